/** What can be done with the selected devices. Each action repeats their number before it runs. */
import { useQueryClient } from "@tanstack/react-query";
import type { Device } from "@tendon/protocol";
import { lazy, Suspense, useState } from "react";
import { api, inPath } from "../../api/client.ts";
import { keys } from "../../api/queries.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextInput } from "../../ui/field.tsx";
import { type Each, useEach } from "./each.ts";
import { Names, Outcomes, useErrorText } from "./outcomes.tsx";
import type { Selection } from "./selection.ts";

// The dialog brings the form library, which the page needs only then.
const CallDialog = lazy(async () => ({ default: (await import("./call-dialog.tsx")).CallDialog }));

type Action = "tag" | "call" | "approve" | "revoke";

export function BulkBar({
  selection,
  shown,
}: {
  readonly selection: Selection;
  readonly shown: readonly Device[];
}) {
  const { t, n } = useI18n();
  const { may } = useSession();
  const [action, setAction] = useState<Action>();
  const { devices } = selection;
  const close = () => setAction(undefined);
  if (devices.length === 0) return null;
  const boards = devices.filter(({ kind }) => kind === "esp32");
  const revocable = boards.filter(({ approval }) => approval === "approved");
  const approvable = boards.filter(({ approval }) => approval !== "approved");
  return (
    <>
      <section
        aria-label={t("bulk.title")}
        className="pop sticky bottom-20 z-20 mx-auto mt-4 flex w-fit max-w-full flex-wrap items-center gap-2 rounded-xl border border-line-strong bg-surface py-2 pr-2 pl-4 shadow-lg md:bottom-4"
      >
        <span role="status" className="font-medium">
          {n("bulk.selected", devices.length)}
        </span>
        {devices.length < shown.length && (
          <Button look="quiet" onClick={() => selection.set(shown.map(({ id }) => id))}>
            {t("bulk.selectAll", { count: shown.length })}
          </Button>
        )}
        {may("call") && (
          <Button icon="play" onClick={() => setAction("call")}>
            {t("bulk.call")}
          </Button>
        )}
        {may("admin") && (
          <Button icon="tag" onClick={() => setAction("tag")}>
            {t("bulk.tag")}
          </Button>
        )}
        {may("admin") && approvable.length > 0 && (
          <Button icon="check" onClick={() => setAction("approve")}>
            {t("device.approve")}
          </Button>
        )}
        {may("admin") && revocable.length > 0 && (
          <Button icon="lock" look="danger" onClick={() => setAction("revoke")}>
            {t("device.revoke")}
          </Button>
        )}
        <IconButton icon="cross" label={t("bulk.clear")} onClick={() => selection.set([])} />
      </section>
      {action === "tag" && <TagDialog devices={devices} onClose={close} />}
      {action === "approve" && <DecisionDialog decision="approve" devices={approvable} onClose={close} />}
      {action === "revoke" && <DecisionDialog decision="revoke" devices={revocable} onClose={close} />}
      {action === "call" && (
        <Suspense fallback={null}>
          <CallDialog devices={devices} onClose={close} />
        </Suspense>
      )}
    </>
  );
}

interface BulkProps {
  /** The devices at the time the dialog opened. */
  readonly devices: readonly Device[];
  readonly onClose: () => void;
}

function useFleetRefresh(): () => void {
  const client = useQueryClient();
  return () => {
    for (const queryKey of [keys.fleets, keys.pending, ["device"]])
      void client.invalidateQueries({ queryKey });
  };
}

function TagDialog({ devices: selected, onClose }: BulkProps) {
  const { t, n } = useI18n();
  const [devices] = useState(selected);
  const [added, setAdded] = useState("");
  const [removed, setRemoved] = useState<readonly string[]>([]);
  const known = [...new Set(devices.flatMap(({ tags }) => tags))].sort();
  const wanted = added.split(/[\s,]+/).filter((tag) => tag !== "");
  const each = useEach((device) => {
    const kept = device.tags.filter((tag) => !removed.includes(tag));
    const tags = [...new Set([...kept, ...wanted])];
    return api(`/devices/${inPath(device.id)}`, { method: "PATCH", body: { tags } });
  }, useFleetRefresh());
  return (
    <Dialog open onClose={onClose} title={n("bulk.tagTitle", devices.length)} ownClose>
      <form
        className="flex flex-col gap-4 overflow-y-auto p-5"
        onSubmit={(event) => {
          event.preventDefault();
          each.start(devices);
        }}
      >
        {each.state === "idle" ? (
          <>
            <label className="flex flex-col gap-1">
              <span className="text-sm font-medium">{t("bulk.addTags")}</span>
              <TextInput
                autoComplete="off"
                maxLength={256}
                value={added}
                onChange={({ target }) => setAdded(target.value)}
              />
              <span className="text-xs text-soft">{t("edit.tagsRule")}</span>
            </label>
            {known.length > 0 && (
              <fieldset className="flex flex-col gap-1">
                <legend className="mb-1 text-sm font-medium">{t("bulk.removeTags")}</legend>
                <div className="flex flex-wrap gap-x-4 gap-y-2">
                  {known.map((tag) => (
                    <label key={tag} className="flex items-center gap-1.5">
                      <input
                        type="checkbox"
                        checked={removed.includes(tag)}
                        onChange={({ target }) =>
                          setRemoved(
                            target.checked ? [...removed, tag] : removed.filter((other) => other !== tag),
                          )
                        }
                        className="size-4 accent-accent"
                      />
                      {tag}
                    </label>
                  ))}
                </div>
              </fieldset>
            )}
          </>
        ) : (
          <EachOutcomes each={each} />
        )}
        <Buttons
          each={each}
          onClose={onClose}
          action={n("bulk.tagAction", devices.length)}
          ready={wanted.length > 0 || removed.length > 0}
        />
      </form>
    </Dialog>
  );
}

function DecisionDialog({
  decision,
  devices: selected,
  onClose,
}: BulkProps & { readonly decision: "approve" | "revoke" }) {
  const { t, n } = useI18n();
  const [devices] = useState(selected);
  const each = useEach(
    (device) => api(`/devices/${inPath(device.id)}/${decision}`, { method: "POST" }),
    useFleetRefresh(),
  );
  return (
    <Dialog
      open
      onClose={onClose}
      title={n(`bulk.${decision}Title`, devices.length)}
      description={t(`bulk.${decision}Effect`)}
      ownClose
    >
      <form
        className="flex flex-col gap-4 overflow-y-auto p-5"
        onSubmit={(event) => {
          event.preventDefault();
          each.start(devices);
        }}
      >
        {each.state === "idle" ? <Names devices={devices} /> : <EachOutcomes each={each} />}
        <Buttons
          each={each}
          onClose={onClose}
          action={n(`bulk.${decision}Action`, devices.length)}
          danger={decision === "revoke"}
          ready
        />
      </form>
    </Dialog>
  );
}

function EachOutcomes({ each }: { readonly each: Each }) {
  const { t } = useI18n();
  const errorText = useErrorText();
  const lines = each.outcomes.map(({ device, error }) => ({
    device,
    ok: error === undefined,
    text: error === undefined ? t("outcome.ok") : errorText(error),
  }));
  return <Outcomes lines={lines} total={each.total} />;
}

function Buttons(props: {
  readonly each: Each;
  readonly onClose: () => void;
  readonly action: string;
  readonly ready: boolean;
  readonly danger?: boolean;
}) {
  const { each, onClose, action, ready, danger = false } = props;
  const { t } = useI18n();
  if (each.state === "done")
    return (
      <div className="flex justify-end">
        <Button look="primary" autoFocus onClick={onClose}>
          {t("action.close")}
        </Button>
      </div>
    );
  return (
    <div className="flex flex-wrap justify-end gap-2">
      <Button onClick={onClose}>{t("action.cancel")}</Button>
      <Button
        type="submit"
        look={danger ? "danger" : "primary"}
        disabled={!ready || each.state === "running"}
      >
        {action}
      </Button>
    </div>
  );
}

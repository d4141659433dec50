/** How to add a device, for each kind. The dialog and the empty fleet show the same. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { DemoDevice } from "@tendon/protocol";
import { type ComponentType, useState } from "react";
import { api } from "../../api/client.ts";
import { keys } from "../../api/queries.ts";
import { type Session, useSession } from "../../api/session.tsx";
import { type Key, useI18n } from "../../i18n/i18n.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { GuideLink } from "../../ui/guide-link.tsx";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { ProblemNote, Warning } from "../../ui/problem.tsx";
import { ProviderSteps } from "./add-provider.tsx";
import { ServerSteps } from "./add-server.tsx";
import { QrCode } from "./qr-code.tsx";

interface StepsProps {
  /** Shows the device that the user added, which the list would otherwise only announce. */
  readonly onAdded: (device: string) => void;
}

interface Kind {
  readonly id: string;
  readonly icon: IconName;
  readonly title: Extract<Key, `add.${string}` | "device.provider">;
  readonly lead: Extract<Key, `add.${string}`>;
  readonly Steps: ComponentType<StepsProps>;
  /** Who sees it; everyone by default. */
  readonly isFor?: (session: Session) => boolean;
}

/** Every kind of device that a person can add. A new kind is one more entry. */
const kinds: readonly Kind[] = [
  { id: "board", icon: "firmware", title: "add.board", lead: "add.boardLead", Steps: BoardSteps },
  {
    id: "virtual",
    icon: "play",
    title: "add.virtual",
    lead: "add.virtualLead",
    Steps: VirtualSteps,
    isFor: ({ gateway, may }) => gateway.demo && may("admin"),
  },
  {
    id: "server",
    icon: "globe",
    title: "add.server",
    lead: "add.serverLead",
    Steps: ServerSteps,
    isFor: ({ may }) => may("admin"),
  },
  {
    id: "provider",
    icon: "incoming",
    title: "device.provider",
    lead: "add.providerLead",
    Steps: ProviderSteps,
    isFor: ({ may }) => may("admin"),
  },
  { id: "program", icon: "terminal", title: "add.program", lead: "add.programLead", Steps: ProgramSteps },
];

export const firstKind = "board";

export function AddDeviceDialog({
  kind,
  onChange,
  onAdded,
}: StepsProps & {
  /** The open kind; empty while the dialog is closed. */
  readonly kind: string;
  readonly onChange: (kind: string) => void;
}) {
  const { t } = useI18n();
  return (
    <Dialog open={kind !== ""} onClose={() => onChange("")} wide title={t("add.title")}>
      <div className="overflow-y-auto p-5">
        <Kinds chosen={kind} onChoose={onChange} onAdded={onAdded} focused />
      </div>
    </Dialog>
  );
}

/** Shown without devices. */
export function FirstRun({ onAdded }: StepsProps) {
  const { t } = useI18n();
  const [kind, setKind] = useState(firstKind);
  return (
    <div className="mx-auto flex max-w-2xl flex-col gap-5 py-10">
      <div className="flex flex-col items-center gap-3 text-center">
        <span className="flex size-11 items-center justify-center rounded-full bg-raised text-soft">
          <Icon name="fleet" size={20} />
        </span>
        <h2 className="text-lg font-semibold">{t("firstRun.title")}</h2>
        <p className="text-soft">{t("add.first")}</p>
      </div>
      <Kinds chosen={kind} onChoose={setKind} onAdded={onAdded} />
    </div>
  );
}

function Kinds({
  chosen,
  onChoose,
  onAdded,
  focused = false,
}: StepsProps & {
  readonly chosen: string;
  readonly onChoose: (kind: string) => void;
  /** Whether the chosen kind takes the focus. */
  readonly focused?: boolean;
}) {
  const { t } = useI18n();
  const session = useSession();
  const offered = kinds.filter(({ isFor }) => isFor === undefined || isFor(session));
  const shown = offered.find(({ id }) => id === chosen) ?? offered[0];
  return (
    <div className="flex flex-col gap-5">
      <div
        role="radiogroup"
        aria-label={t("add.kind")}
        className={`grid gap-2 ${offered.length > 4 ? "sm:grid-cols-3" : "sm:grid-cols-2"}`}
      >
        {offered.map(({ id, icon, title, lead }) => (
          <label
            key={id}
            className="group relative flex gap-3 rounded-lg border border-line-strong p-3 hover:bg-raised has-checked:border-accent has-checked:bg-accent-soft has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent"
          >
            <input
              type="radio"
              name="kind"
              aria-label={t(title)}
              checked={id === shown?.id}
              autoFocus={focused && id === shown?.id}
              onChange={() => onChoose(id)}
              className="absolute inset-0 cursor-pointer opacity-0"
            />
            <span className="text-accent-deep">
              <Icon name={icon} size={18} />
            </span>
            <span>
              <span className="block font-medium">{t(title)}</span>
              <span className="block text-sm text-soft max-sm:hidden max-sm:group-has-checked:block">
                {t(lead)}
              </span>
            </span>
          </label>
        ))}
      </div>
      {shown !== undefined && <shown.Steps onAdded={onAdded} />}
    </div>
  );
}

/** The address that a board needs, and whether boards can reach it. */
function BoardSteps() {
  const { t } = useI18n();
  const { gateway } = useSession();
  const { ota, otaProblem } = gateway;
  return (
    <div className="flex flex-col gap-4">
      {otaProblem !== undefined && (
        <Warning title={t("reach.title")}>
          <p>{t(`reach.${otaProblem}`, { host: new URL(ota).hostname })}</p>
        </Warning>
      )}
      <div className="flex flex-col gap-4 sm:flex-row">
        <div className="flex min-w-0 flex-1 flex-col gap-3">
          <ol className="flex list-decimal flex-col gap-1.5 pl-5">
            <li>{t("add.boardWifi")}</li>
            <li>{t("add.boardAddress")}</li>
            <li>{t("add.boardCode")}</li>
          </ol>
          <CodeBlock text={ota} label={t("firstRun.otaLabel")} />
        </div>
        <figure className="flex flex-col items-center gap-1.5">
          <QrCode text={ota} label={t("add.qr")} />
          <figcaption className="max-w-36 text-center text-xs text-soft">{t("add.qrHint")}</figcaption>
        </figure>
      </div>
      <p>
        <GuideLink guide="your-board">{t("action.guide")}</GuideLink>
      </p>
    </div>
  );
}

function VirtualSteps({ onAdded }: StepsProps) {
  const { t } = useI18n();
  const { gateway } = useSession();
  const client = useQueryClient();
  const start = useMutation({
    mutationFn: () => api<DemoDevice>("/demo/devices", { method: "POST" }),
    onSuccess: ({ id }) => {
      onAdded(id);
      return client.invalidateQueries({ queryKey: keys.fleets });
    },
  });
  return (
    <div className="flex flex-col items-start gap-3">
      <p>{t("add.virtualStays")}</p>
      <Button look="primary" icon="play" disabled={start.isPending} onClick={() => start.mutate()}>
        {t("firstRun.start")}
      </Button>
      <p role="status" className="text-ok empty:hidden">
        {start.isSuccess && t("add.virtualStarted")}
      </p>
      {start.isError && <ProblemNote error={start.error} />}
      <p className="text-sm text-soft">{t("add.virtualMore")}</p>
      <div className="w-full">
        <CodeBlock text={`${gateway.command} simulate esp32 --count 10`} label={t("copy.command")} />
      </div>
      <GuideLink guide="simulator">{t("action.guide")}</GuideLink>
    </div>
  );
}

const programSettings = `devices:
  stdio:
    - alias: files
      command: npx
      args: [-y, "@modelcontextprotocol/server-filesystem", /srv/shared]
      protocol: mcp`;

function ProgramSteps() {
  const { t } = useI18n();
  return (
    <div className="flex flex-col items-start gap-3">
      <p>{t("add.programSteps")}</p>
      <div className="w-full">
        <CodeBlock text={programSettings} label="tendon.yaml" />
      </div>
      <GuideLink guide="processes">{t("action.guide")}</GuideLink>
    </div>
  );
}

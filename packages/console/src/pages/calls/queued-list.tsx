/** The calls that wait until their device is online, oldest first, with a button to cancel each. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useAliases } from "../../api/aliases.ts";
import { type QueuedCall, queuedQuery, useCancelQueued, useMayCancel } from "../../api/queued-calls.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { callAddress } from "../../shell/navigation.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Expiry } from "../../ui/time.tsx";
import { titleOf } from "../../ui/tool-names.ts";

/** On the page of all calls. Nothing if no calls wait. */
export function QueuedCalls() {
  const { t } = useI18n();
  const { data } = useQuery(queuedQuery());
  if (data === undefined || data.calls.length === 0) return null;
  return (
    <section
      aria-label={t("queue.title")}
      className="mb-4 overflow-hidden rounded-xl border border-line bg-surface"
    >
      <h2 className="px-4 pt-2.5 text-sm font-semibold">{t("queue.title")}</h2>
      <div className="max-h-64 overflow-y-auto">
        <QueuedList calls={data.calls} />
        {data.nextCursor !== undefined && (
          <p className="border-t border-line px-4 py-2 text-sm text-soft">{t("queue.more")}</p>
        )}
      </div>
    </section>
  );
}

export function QueuedList(props: { readonly calls: readonly QueuedCall[]; readonly hideDevice?: boolean }) {
  const { calls, hideDevice = false } = props;
  const { t } = useI18n();
  const cancel = useCancelQueued();
  const mayCancel = useMayCancel();
  return (
    <>
      <ol aria-label={t("queue.title")} className="divide-y divide-line">
        {calls.map((call) => (
          <li key={call.callId} className="flex items-center gap-3 px-4 py-2">
            <span className="text-soft">
              <Icon name="clock" size={15} />
            </span>
            <QueuedRow call={call} hideDevice={hideDevice} />
            {mayCancel(call) && (
              <Button
                look="quiet"
                className="-mr-2 h-7"
                aria-label={t("queue.cancelThis", { tool: titleOf(call.tool) })}
                disabled={cancel.isPending && cancel.variables === call.callId}
                onClick={() => cancel.mutate(call.callId)}
              >
                {t("action.cancel")}
              </Button>
            )}
          </li>
        ))}
      </ol>
      {cancel.isError && (
        <div className="px-4 pb-3">
          <ProblemNote error={cancel.error} />
        </div>
      )}
    </>
  );
}

function QueuedRow({ call, hideDevice }: { readonly call: QueuedCall; readonly hideDevice: boolean }) {
  const aliasOf = useAliases();
  const values = call.preview?.arguments ?? "";
  return (
    <Link href={callAddress(call.callId)} className="min-w-0 flex-1 rounded">
      <span className="block truncate">
        {!hideDevice && <span className="font-medium">{aliasOf(call.device)} </span>}
        <span className={hideDevice ? "font-medium" : ""}>{titleOf(call.tool)}</span>{" "}
        {values !== "" && (
          <code className="font-mono text-xs text-soft" title={values}>
            {values}
          </code>
        )}
      </span>
      <span className="block truncate text-sm text-soft">
        {call.principal} · <Expiry at={call.expiresAt} />
      </span>
    </Link>
  );
}

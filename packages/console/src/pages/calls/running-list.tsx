/** The calls that have not ended: phase, elapsed time, and a button to cancel those that this page made. */
import { useQuery } from "@tanstack/react-query";
import type { RunningCalls as RunningList } from "@tendon/protocol";
import { Link } from "wouter";
import { useAliases } from "../../api/aliases.ts";
import { useOwnCalls } from "../../api/own-calls.ts";
import { runningQuery } from "../../api/queries.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { callAddress } from "../../shell/navigation.ts";
import { Button } from "../../ui/button.tsx";
import { Elapsed, phaseText, RunningDot } from "../../ui/running-call.tsx";
import { useNow } from "../../ui/time.tsx";
import { titleOf } from "../../ui/tool-names.ts";

type RunningCall = RunningList["calls"][number];

/** Calls that last less than this would only flash by. */
const shownAfterMs = 500;

export function RunningCalls() {
  const { t } = useI18n();
  const { data, dataUpdatedAt } = useQuery(runningQuery);
  const calls = (data?.calls ?? []).filter(
    ({ elapsedMs, origin }) => elapsedMs >= shownAfterMs && origin?.automatic !== true,
  );
  if (calls.length === 0) return null;
  return (
    <section
      aria-label={t("calls.running")}
      className="mb-4 overflow-hidden rounded-xl border border-accent bg-surface"
    >
      <h2 className="px-4 pt-2.5 text-sm font-semibold">{t("calls.running")}</h2>
      <ol className="divide-y divide-line">
        {calls.map((call) => (
          <RunningRow key={call.callId} call={call} asOf={dataUpdatedAt} />
        ))}
      </ol>
    </section>
  );
}

function RunningRow({ call, asOf }: { readonly call: RunningCall; readonly asOf: number }) {
  const { t } = useI18n();
  const aliasOf = useAliases();
  const now = Math.max(useNow(), Date.now());
  const own = useOwnCalls().find(({ request }) => request === call.origin?.request);
  return (
    <li className="flex items-center gap-3 px-4 py-2">
      <RunningDot />
      <Link
        href={callAddress(call.callId)}
        className="grid min-w-0 flex-1 gap-x-3 rounded lg:grid-cols-[minmax(0,1.5fr)_minmax(0,2fr)_minmax(0,0.7fr)]"
      >
        <span className="truncate">
          <span className="font-medium">{aliasOf(call.device)} </span>
          {titleOf(call.tool)}
        </span>
        <span className="truncate text-sm text-soft">{t(phaseText(call.phase, call.tool))}</span>
        <span className="hidden truncate text-sm text-soft lg:block">{call.principal}</span>
      </Link>
      <Elapsed ms={call.elapsedMs + Math.max(0, now - asOf)} />
      {own !== undefined && (
        <Button look="quiet" className="-mr-2 h-7" onClick={own.cancel}>
          {t("action.cancel")}
        </Button>
      )}
    </li>
  );
}

import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import type { CallHistory } from "@tendon/protocol";
import { Link } from "wouter";
import { useAliases } from "../../api/aliases.ts";
import { type CallFilter, callsQuery } from "../../api/queries.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { callAddress } from "../../shell/navigation.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { walkLinks } from "../../ui/keyboard.ts";
import { outcomeLabel, outcomeTone, ProblemNote } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/states.tsx";
import { Clock } from "../../ui/time.tsx";
import { titleOf } from "../../ui/tool-names.ts";

type PastCall = CallHistory["calls"][number];

export function CallHistoryList({
  filter,
  hideDevice = false,
  paused = false,
}: {
  readonly filter: CallFilter;
  readonly hideDevice?: boolean;
  readonly paused?: boolean;
}) {
  const { t } = useI18n();
  const history = useInfiniteQuery({
    ...callsQuery(filter),
    placeholderData: keepPreviousData,
    // Keep the current rows while new ones load.
    ...(paused ? { enabled: false } : {}),
  });
  if (history.isError)
    return (
      <div className="p-4">
        <ProblemNote error={history.error} />
      </div>
    );
  if (history.isPending) return <SkeletonRows rows={4} />;
  const calls = history.data.pages.flatMap((page) => page.calls);
  if (calls.length === 0) return <p className="p-4 text-soft">{t("calls.none")}</p>;
  return (
    <>
      <ol className="divide-y divide-line" aria-label={t("calls.title")} onKeyDown={walkLinks}>
        {calls.map((call) => (
          <li key={call.callId}>
            <CallRow call={call} hideDevice={hideDevice} />
          </li>
        ))}
      </ol>
      {history.hasNextPage && (
        <div className="border-t border-line p-2 text-center">
          <Button
            look="quiet"
            disabled={history.isFetchingNextPage}
            onClick={() => void history.fetchNextPage()}
          >
            {t("calls.more")}
          </Button>
        </div>
      )}
    </>
  );
}

const inks = { ok: "text-ok", warn: "text-warn", bad: "text-bad" } as const;
const signs = { ok: "check", warn: "clock", bad: "alert" } as const;

function CallRow({ call, hideDevice }: { readonly call: PastCall; readonly hideDevice: boolean }) {
  const i18n = useI18n();
  const aliasOf = useAliases();
  const tone = outcomeTone(call.outcome);
  return (
    <Link
      href={callAddress(call.callId)}
      className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-2.5 -outline-offset-2 transition-colors hover:bg-raised md:grid-cols-[auto_minmax(0,2fr)_minmax(0,1.4fr)_minmax(0,1fr)_5rem_6rem]"
    >
      <span className={inks[tone]}>
        <Icon name={signs[tone]} size={15} />
      </span>
      <span className="min-w-0">
        <span className="block truncate">
          {!hideDevice && <span className="font-medium">{aliasOf(call.device)} </span>}
          <span className={hideDevice ? "font-medium" : ""}>{titleOf(call.tool)}</span>
        </span>
        <code className="block truncate font-mono text-xs text-soft">{call.tool}</code>
      </span>
      <span className={`hidden truncate text-sm md:block ${tone === "ok" ? "text-soft" : inks[tone]}`}>
        {outcomeLabel(i18n, call.outcome)}
      </span>
      <span className="hidden truncate text-sm text-soft md:block">{call.principal}</span>
      <span className="hidden text-right text-sm text-soft md:block">{i18n.duration(call.durationMs)}</span>
      <span className="text-right text-sm text-soft">
        <Clock at={call.at} />
      </span>
    </Link>
  );
}

import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import type { CallHistory } from "@tendon/protocol";
import { useState } from "react";
import { Link } from "wouter";
import { useAliases } from "../../api/aliases.ts";
import { type CallFilter, callsQuery } from "../../api/queries.ts";
import { type I18n, useI18n } from "../../i18n/i18n.tsx";
import { callAddress } from "../../shell/navigation.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { walkLinks } from "../../ui/keyboard.ts";
import { outcomeLabel, outcomeTone, ProblemNote } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/states.tsx";
import { Clock } from "../../ui/time.tsx";
import { answeredFalse, titleOf } from "../../ui/tool-names.ts";
import { folded } from "./folded-calls.ts";

type PastCall = CallHistory["calls"][number];

export function CallHistoryList({
  filter,
  hideDevice = false,
  paused = false,
  none,
}: {
  readonly filter: CallFilter;
  readonly hideDevice?: boolean;
  readonly paused?: boolean;
  /** The text of an empty list. */
  readonly none?: string;
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
  const rows = folded(history.data.pages.flatMap((page) => page.calls));
  if (rows.length === 0) return <p className="p-4 text-soft">{none ?? t("calls.none")}</p>;
  return (
    <>
      <ol className="divide-y divide-line" aria-label={t("calls.title")} onKeyDown={walkLinks}>
        {rows.map((calls) => (
          // The oldest call of a row stays the same while newer ones join it.
          <Row key={calls.at(-1)?.callId} calls={calls} hideDevice={hideDevice} />
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

/** Equal calls in a row are one row with their number, which opens to all of them. */
function Row({ calls, hideDevice }: { readonly calls: readonly PastCall[]; readonly hideDevice: boolean }) {
  const { t, number } = useI18n();
  const [open, setOpen] = useState(false);
  const [newest] = calls;
  if (newest === undefined) return null;
  const count = calls.length;
  return (
    <li>
      <div className="relative">
        <CallRow call={newest} hideDevice={hideDevice} folded={count > 1} />
        {count > 1 && (
          <button
            type="button"
            aria-expanded={open}
            aria-label={t("calls.folded", { count })}
            title={t("calls.folded", { count })}
            onClick={() => setOpen(!open)}
            className="absolute right-4 bottom-2 flex h-6 items-center gap-1 rounded-md bg-raised px-2 text-sm text-soft hover:text-text"
          >
            × {number(count)}
            <span className={open ? "rotate-180" : ""}>
              <Icon name="down" size={10} />
            </span>
          </button>
        )}
      </div>
      {open && (
        <ol className="divide-y divide-line border-t border-line bg-raised/50 pl-6">
          {calls.slice(1).map((call) => (
            <li key={call.callId}>
              <CallRow call={call} hideDevice={hideDevice} />
            </li>
          ))}
        </ol>
      )}
    </li>
  );
}

const inks = { ok: "text-ok", warn: "text-warn", bad: "text-bad" } as const;
const signs = { ok: "check", warn: "clock", bad: "alert" } as const;

function CallRow(props: {
  readonly call: PastCall;
  readonly hideDevice: boolean;
  /** Leaves a place below the time. */
  readonly folded?: boolean;
}) {
  const { call, hideDevice, folded: isFolded = false } = props;
  const i18n = useI18n();
  const { t } = i18n;
  const aliasOf = useAliases();
  const isFalse = answeredFalse(call.tool, call.preview?.answer);
  const tone = isFalse ? "warn" : outcomeTone(call.outcome);
  const label = isFalse ? t("outcome.false") : outcomeLabel(i18n, call.outcome);
  const values = call.preview?.arguments ?? "";
  const answer = answerText(call, isFalse, i18n);
  return (
    <Link
      href={callAddress(call.callId)}
      className="grid min-w-0 grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-2.5 -outline-offset-2 transition-colors hover:bg-raised lg:grid-cols-[auto_minmax(0,1.5fr)_minmax(0,2fr)_minmax(0,0.7fr)_4.5rem_auto]"
    >
      <span className={inks[tone]}>
        <Icon name={isFalse ? "alert" : signs[tone]} size={15} />
      </span>
      <span className="min-w-0">
        <span className="block truncate">
          {!hideDevice && <span className="font-medium">{aliasOf(call.device)} </span>}
          <span className={hideDevice ? "font-medium" : ""}>{titleOf(call.tool)}</span>
        </span>
        <code className="hidden truncate font-mono text-xs text-soft sm:block">{call.tool}</code>
      </span>
      <span className="col-start-2 min-w-0 text-sm lg:col-start-auto">
        {values !== "" && (
          <code className="block truncate font-mono text-xs" title={values}>
            {values}
          </code>
        )}
        <span className="block truncate" title={answer}>
          <span className={tone === "ok" ? "text-soft" : inks[tone]}>{label}</span>
          {answer !== "" && <span className="text-soft"> · {answer}</span>}
        </span>
      </span>
      <span className="hidden truncate text-sm text-soft lg:block">{call.principal}</span>
      <span className="hidden text-right text-sm text-soft lg:block">{i18n.duration(call.durationMs)}</span>
      <span
        className={`col-start-3 row-start-1 text-right text-sm whitespace-nowrap text-soft lg:col-start-auto lg:row-start-auto lg:min-w-20 ${isFolded ? "lg:pb-6" : ""}`}
      >
        <Clock at={call.at} />
      </span>
    </Link>
  );
}

/** A bare `true` says no more than “Done”. */
function answerText({ outcome, preview }: PastCall, isFalse: boolean, { t }: I18n): string {
  const picture = preview?.picture === true ? t("calls.picture") : "";
  const text = preview?.answer ?? "";
  const plain = isFalse || (outcome === "ok" && text === "true");
  return [picture, plain ? "" : text].filter((part) => part !== "").join(" · ");
}

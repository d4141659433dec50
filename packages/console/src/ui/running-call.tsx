/** A call that runs: its phase, the time since its start, and a button to cancel it. */
import { useQuery } from "@tanstack/react-query";
import type { CallPhase } from "@tendon/protocol";
import type { OwnCall } from "../api/own-calls.ts";
import { runningQuery } from "../api/queries.ts";
import { type Key, useI18n } from "../i18n/i18n.tsx";
import { Button } from "./button.tsx";
import { useNow } from "./time.tsx";

const phaseTexts: Readonly<Record<CallPhase, Key>> = {
  away: "running.away",
  checks: "running.checks",
  queue: "running.queue",
  device: "running.device",
  picture: "running.picture",
};

export function phaseText(phase: CallPhase, tool: string): "running.device" {
  const key = phase === "device" && tool.endsWith("take_photo") ? "running.photo" : phaseTexts[phase];
  // Safe: no text of a phase has a placeholder.
  return key as "running.device";
}

/** Most calls end sooner, and a note that appears for a moment only distracts. */
const shownAfterMs = 900;

export function RunningCall({ call }: { readonly call: OwnCall | undefined }) {
  const now = Math.max(useNow(), Date.now());
  if (call === undefined || now - call.startedAt < shownAfterMs) return null;
  return <RunningNote call={call} elapsedMs={now - call.startedAt} />;
}

function RunningNote({ call, elapsedMs }: { readonly call: OwnCall; readonly elapsedMs: number }) {
  const { t } = useI18n();
  const { data } = useQuery(runningQuery);
  const phase = data?.calls.find(({ origin }) => origin?.request === call.request)?.phase;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg bg-raised px-3 py-1.5 text-sm">
      <RunningDot />
      <span role="status" className="min-w-0 flex-1">
        {t(phase === undefined ? "outcome.running" : phaseText(phase, call.tool))}
      </span>
      <Elapsed ms={elapsedMs} />
      <Button look="quiet" className="-mr-2 h-7" onClick={call.cancel}>
        {t("action.cancel")}
      </Button>
    </div>
  );
}

export function RunningDot() {
  return <span aria-hidden="true" className="running-dot" />;
}

/** Whole seconds. Not announced by screen readers, which would read every second aloud. */
export function Elapsed({ ms }: { readonly ms: number }) {
  const { number } = useI18n();
  return (
    <span role="timer" aria-live="off" className="text-soft">
      {number(Math.max(0, Math.floor(ms / 1000)))} s
    </span>
  );
}

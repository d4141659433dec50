import type { Clock } from "../clock.ts";
import type { OnProblem } from "./health.ts";
import { StoreError } from "./store-error.ts";

interface Patience {
  readonly clock: Clock;
  readonly onProblem: OnProblem;
  readonly patienceMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A machine that starts both at once has its database ready by then. */
const usualPatienceMs = 30_000;
const firstPauseMs = 250;
const longestPauseMs = 2_000;

/** Tries again while the database does not answer, for a bounded time and never without a word. */
export async function untilAnswering<Result>(
  { clock, onProblem, patienceMs = usualPatienceMs, signal }: Patience,
  work: () => Promise<Result>,
): Promise<Result> {
  const started = clock.monotonic();
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError) || error.fault !== "unavailable" || error.hopeless) throw error;
      const waitedMs = Math.round(clock.monotonic() - started);
      if (signal?.aborted === true || waitedMs + pauseMs > patienceMs) throw gaveUp(error, waitedMs);
      onProblem({ kind: "waiting", detail: error.said, waitedMs });
      await pause(clock, pauseMs, signal);
    }
  }
}

function gaveUp(error: StoreError, waitedMs: number): StoreError {
  const seconds = Math.round(waitedMs / 1_000);
  return seconds === 0 ? error : new StoreError("unavailable", `${error.said}, for ${seconds} s`);
}

function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      timer.cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.after(ms, end);
    signal?.addEventListener("abort", end);
  });
}

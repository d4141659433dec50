import type { Clock } from "../clock.ts";
import type { OnProblem } from "./health.ts";
import { StoreError } from "./store-error.ts";

interface RetryOptions {
  readonly clock: Clock;
  readonly onProblem: OnProblem;
  readonly connectTimeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Enough for a machine that starts the gateway and the database at the same time. */
const defaultConnectTimeoutMs = 30_000;
const firstPauseMs = 250;
const maxPauseMs = 2_000;

/** Retries while the database does not answer, for a bounded time. Reports each failed attempt. */
export async function retryUntilAvailable<Result>(
  { clock, onProblem, connectTimeoutMs = defaultConnectTimeoutMs, signal }: RetryOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const started = clock.monotonic();
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError) || error.fault !== "unavailable" || error.permanent) throw error;
      const waitedMs = Math.round(clock.monotonic() - started);
      if (signal?.aborted === true || waitedMs + pauseMs > connectTimeoutMs) throw timedOut(error, waitedMs);
      onProblem({ kind: "waiting", detail: error.reason, waitedMs });
      await pause(clock, pauseMs, signal);
    }
  }
}

function timedOut(error: StoreError, waitedMs: number): StoreError {
  const seconds = Math.round(waitedMs / 1_000);
  return seconds === 0 ? error : new StoreError("unavailable", `${error.reason}, for ${seconds} s`);
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

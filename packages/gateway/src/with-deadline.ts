import type { Cancellation } from "./cancellation.ts";
import type { Clock } from "./clock.ts";
import { TendonError } from "./errors.ts";

export interface Deadline {
  readonly timeoutMs: number;
  readonly signal?: Cancellation | undefined;
}

/** Waits for the promise until the deadline. Rejects with `cancelled` when the caller stops waiting. */
export async function withDeadline<Value>(
  clock: Clock,
  promise: Promise<Value>,
  { timeoutMs, signal }: Deadline,
): Promise<Value | "timeout"> {
  return await new Promise((resolve, reject) => {
    const done = () => {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
    };
    const onAbort = () => {
      done();
      reject(new TendonError("cancelled", "the caller stopped waiting", { sent: false }));
    };
    const timer = clock.after(timeoutMs, () => {
      done();
      resolve("timeout");
    });
    signal?.addEventListener("abort", onAbort);
    promise.then(
      (value) => {
        done();
        resolve(value);
      },
      (error: unknown) => {
        done();
        reject(error);
      },
    );
  });
}

/** Waits for the promise, but not longer than this; a later result is ignored. */
export async function within(clock: Clock, ms: number, promise: Promise<void>): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = clock.after(ms, resolve);
    void promise.finally(() => {
      timer.cancel();
      resolve();
    });
  });
}

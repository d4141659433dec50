import type { Cancellation } from "../cancellation.ts";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";

export interface Patience {
  readonly timeoutMs: number;
  readonly signal?: Cancellation | undefined;
}

/** Waits for the promise, but not beyond its time, and not for a caller that has gone: that fails as `cancelled`. */
export async function inTime<Value>(
  clock: Clock,
  promise: Promise<Value>,
  { timeoutMs, signal }: Patience,
): Promise<Value | "overdue"> {
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
      resolve("overdue");
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

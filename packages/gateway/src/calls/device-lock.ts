import { limits } from "@tendon/protocol";
import type { Cancellation } from "../cancellation.ts";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";

export interface LockOptions {
  readonly timeoutMs: number;
  readonly signal?: Cancellation | undefined;
}

/** Runs one task at a time per device, in order. The queue is as long as that of calls; each task has its deadline. */
export class DeviceLock {
  readonly #clock: Clock;
  /** The waiting tasks by device. A device has an entry while its lock is taken. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async run<Result>(device: string, work: () => Promise<Result>, options: LockOptions): Promise<Result> {
    const waiting = this.#waiting.get(device);
    if (waiting === undefined) this.#waiting.set(device, []);
    else await this.#wait(waiting, options);
    try {
      return await work();
    } finally {
      this.#release(device);
    }
  }

  #release(device: string): void {
    const next = this.#waiting.get(device)?.shift();
    if (next === undefined) this.#waiting.delete(device);
    else next();
  }

  #wait(waiting: (() => void)[], { timeoutMs, signal }: LockOptions): Promise<void> {
    if (waiting.length >= limits.queuedCallsPerDevice.max) {
      throw new TendonError("queue_full", `${waiting.length} actions are already waiting for this device`);
    }
    if (signal?.aborted === true) throw cancelled();
    return new Promise((resolve, reject) => {
      const cleanUp = () => {
        timer.cancel();
        signal?.removeEventListener("abort", onAbort);
        const at = waiting.indexOf(start);
        if (at !== -1) waiting.splice(at, 1);
      };
      const start = () => {
        cleanUp();
        resolve();
      };
      const fail = (error: TendonError) => {
        cleanUp();
        reject(error);
      };
      const onAbort = () => fail(cancelled());
      const timer = this.#clock.after(timeoutMs, () => {
        const detail = `the action was still waiting behind others after ${timeoutMs} ms; nothing was sent`;
        fail(new TendonError("device_timeout", detail, { phase: "queue", sent: false }));
      });
      signal?.addEventListener("abort", onAbort);
      waiting.push(start);
    });
  }
}

function cancelled(): TendonError {
  return new TendonError("cancelled", "the caller stopped waiting", { sent: false });
}

import { limits } from "@tendon/protocol";
import { TendonError } from "../errors.ts";

/** One piece of work at a time per device, in order; as many may wait as calls may. */
export class Turns {
  readonly #last = new Map<string, { readonly done: Promise<unknown>; waiting: number }>();

  async run<Result>(device: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(device);
    const waiting = (before?.waiting ?? 0) + 1;
    if (waiting > limits.queuedCallsPerDevice.max) {
      throw new TendonError("queue_full", `${waiting - 1} actions are already waiting for this device`);
    }
    const run = before === undefined ? work() : before.done.then(work, work);
    const mine = { done: run, waiting };
    this.#last.set(device, mine);
    try {
      return await run;
    } finally {
      const last = this.#last.get(device);
      if (last === mine) this.#last.delete(device);
      else if (last !== undefined) last.waiting -= 1;
    }
  }
}

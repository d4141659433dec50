/**
 * Which calls wait for which device, in memory. Events keep it up to date on every node, and the store corrects it now
 * and then, because a node can miss events.
 */
import type { GatewayEvent } from "@tendon/protocol";

export interface Unfinished {
  readonly id: string;
  readonly device: string;
}

export class WaitingCalls {
  readonly #setCount: (device: string, count: number) => void;
  /** The ids of the calls by device. */
  readonly #devices = new Map<string, Set<string>>();
  readonly #listeners = new Set<(device: string) => void>();
  #total = 0;

  constructor(setCount: (device: string, count: number) => void) {
    this.#setCount = setCount;
  }

  get total(): number {
    return this.#total;
  }

  has(device: string): boolean {
    return this.#devices.has(device);
  }

  onAdded(listener: (device: string) => void): void {
    this.#listeners.add(listener);
  }

  apply({ type, device, data }: Pick<GatewayEvent, "type" | "device" | "data">): void {
    if (device === undefined) return;
    if (type === "call.queued") {
      this.#add({ id: String(data["callId"]), device });
      for (const listener of this.#listeners) listener(device);
    } else if (type === "call.finished" && this.#total > 0) {
      this.#remove(device, String(data["callId"]));
    }
  }

  /** Takes over what the store has. */
  replace(calls: readonly Unfinished[]): void {
    const before = [...this.#devices.keys()];
    this.#devices.clear();
    this.#total = 0;
    for (const call of calls) this.#add(call);
    for (const device of before) if (!this.#devices.has(device)) this.#setCount(device, 0);
    for (const device of [...this.#devices.keys()]) for (const listener of this.#listeners) listener(device);
  }

  #add({ id, device }: Unfinished): void {
    const calls = this.#devices.get(device) ?? new Set<string>();
    this.#devices.set(device, calls);
    if (!calls.has(id)) this.#total += 1;
    calls.add(id);
    this.#setCount(device, calls.size);
  }

  #remove(device: string, id: string): void {
    const calls = this.#devices.get(device);
    if (calls?.delete(id) !== true) return;
    this.#total -= 1;
    if (calls.size === 0) this.#devices.delete(device);
    this.#setCount(device, calls.size);
  }
}

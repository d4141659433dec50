/**
 * Which calls wait for which device, in memory. Events keep it up to date on every node, and the store corrects it now
 * and then, because a node can miss events.
 */
import type { GatewayEvent } from "@tendon/protocol";

export interface Unfinished {
  readonly id: string;
  readonly device: string;
  /** The name of the token. */
  readonly principal: string;
}

export class WaitingCalls {
  readonly #setCount: (device: string, count: number) => void;
  /** The tokens of the calls, by device and call id. */
  readonly #devices = new Map<string, Map<string, string>>();
  readonly #principals = new Map<string, number>();
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

  /** How many wait for this device, and how many of this token. Other nodes may have added some since. */
  counts(device: string, principal: string): { readonly device: number; readonly principal: number } {
    return {
      device: this.#devices.get(device)?.size ?? 0,
      principal: this.#principals.get(principal) ?? 0,
    };
  }

  onAdded(listener: (device: string) => void): void {
    this.#listeners.add(listener);
  }

  apply({ type, device, data }: Pick<GatewayEvent, "type" | "device" | "data">): void {
    if (device === undefined) return;
    if (type === "call.queued") {
      this.#add({ id: String(data["callId"]), device, principal: String(data["principal"]) });
      for (const listener of this.#listeners) listener(device);
    } else if (type === "call.finished" && this.#total > 0) {
      this.#remove(device, String(data["callId"]));
    }
  }

  /** Takes over what the store has. */
  replace(calls: readonly Unfinished[]): void {
    const before = [...this.#devices.keys()];
    this.#devices.clear();
    this.#principals.clear();
    this.#total = 0;
    for (const call of calls) this.#add(call);
    for (const device of before) if (!this.#devices.has(device)) this.#setCount(device, 0);
    for (const device of [...this.#devices.keys()]) for (const listener of this.#listeners) listener(device);
  }

  #add({ id, device, principal }: Unfinished): void {
    const calls = this.#devices.get(device) ?? new Map<string, string>();
    this.#devices.set(device, calls);
    if (calls.has(id)) return;
    calls.set(id, principal);
    this.#total += 1;
    this.#principals.set(principal, (this.#principals.get(principal) ?? 0) + 1);
    this.#setCount(device, calls.size);
  }

  #remove(device: string, id: string): void {
    const calls = this.#devices.get(device);
    const principal = calls?.get(id);
    if (calls === undefined || principal === undefined) return;
    calls.delete(id);
    this.#total -= 1;
    const left = (this.#principals.get(principal) ?? 1) - 1;
    if (left === 0) this.#principals.delete(principal);
    else this.#principals.set(principal, left);
    if (calls.size === 0) this.#devices.delete(device);
    this.#setCount(device, calls.size);
  }
}

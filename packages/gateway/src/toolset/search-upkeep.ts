import { setImmediate as nextTurn } from "node:timers/promises";
import type { DeviceRecord } from "../fleet/fleet.ts";
import type { Changes } from "./changes.ts";
import { ToolSearch } from "./search/search.ts";

/** Reading the words of so many devices takes a few milliseconds; then others have their turn. */
const devicesAtOnce = 100;

/**
 * Keeps the search at what the devices are. It is made when it is first wanted and then follows the changes, in slices:
 * a fleet of twenty thousand takes more than a second in all, in which nothing else may wait.
 */
export class SearchUpkeep {
  readonly #changes: Changes;
  readonly #devices: ReadonlyMap<string, DeviceRecord>;
  #search = new ToolSearch();
  /** How many changes it has taken in; `undefined` before anybody has wanted it. */
  #upTo: number | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(changes: Changes, devices: ReadonlyMap<string, DeviceRecord>) {
    this.#changes = changes;
    this.#devices = devices;
    changes.subscribe(() => {
      if (this.#upTo !== undefined) void this.current();
    });
  }

  /** The search with every change there has been. */
  async current(): Promise<ToolSearch> {
    this.#running ??= this.#catchUp().finally(() => {
      this.#running = undefined;
    });
    await this.#running;
    return this.#search;
  }

  stop(): void {
    this.#stopped = true;
  }

  async #catchUp(): Promise<void> {
    while (!this.#stopped && this.#upTo !== this.#changes.count) {
      const { count } = this.#changes;
      const changed = this.#upTo === undefined ? undefined : this.#changes.since(this.#upTo);
      if (changed === undefined) this.#search = new ToolSearch();
      await this.#update([...(changed ?? this.#devices.keys())]);
      this.#upTo = count;
    }
  }

  async #update(devices: readonly string[]): Promise<void> {
    for (let from = 0; from < devices.length && !this.#stopped; from += devicesAtOnce) {
      if (from > 0) await nextTurn();
      for (const device of devices.slice(from, from + devicesAtOnce)) this.#updateOne(device);
    }
  }

  #updateOne(device: string): void {
    const record = this.#devices.get(device);
    if (record === undefined) this.#search.update(device, undefined);
    else {
      const { id, alias, board, tags, catalogue } = record;
      this.#search.update(device, { id, alias, board, tags, tools: catalogue.tools() });
    }
  }
}

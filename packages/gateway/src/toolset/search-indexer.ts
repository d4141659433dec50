import { setImmediate as nextTurn } from "node:timers/promises";
import type { DeviceRecord } from "../fleet/fleet.ts";
import type { Changes } from "./changes.ts";
import { ToolSearch } from "./search/search.ts";

/** Indexing this many devices takes a few milliseconds; then the event loop continues. */
const devicesAtOnce = 100;

/**
 * Keeps the search index up to date. It is built at the first use and then follows the changes, in slices: indexing
 * twenty thousand devices takes more than a second and must not block the event loop.
 */
export class SearchIndexer {
  readonly #changes: Changes;
  readonly #devices: ReadonlyMap<string, DeviceRecord>;
  #search = new ToolSearch();
  /** The number of changes in the index; `undefined` before the first use. */
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

  /** The search with all changes applied. */
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

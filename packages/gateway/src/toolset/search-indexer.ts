import { setImmediate as nextTurn } from "node:timers/promises";
import type { ToolDefinition } from "@tendon/protocol";
import type { DeviceRecord } from "../fleet/fleet.ts";
import type { Changes } from "./changes.ts";
import { ToolSearch } from "./search/search.ts";

/** Indexing this many devices takes a few milliseconds; then the event loop continues. */
const devicesAtOnce = 100;
/** Characters of new tools: about 10 ms. One device may have two megabytes of them. */
const lengthAtOnce = 4_096;

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
    for (const [index, device] of devices.entries()) {
      if (index % devicesAtOnce === devicesAtOnce - 1) await nextTurn();
      if (this.#stopped) return;
      const prepared = this.#devices.get(device)?.catalogue.tools() ?? [];
      await this.#prepare(prepared);
      this.#updateOne(device);
      // The device may have got other tools meanwhile.
      this.#search.release(prepared);
    }
  }

  async #prepare(tools: readonly ToolDefinition[]): Promise<void> {
    let length = 0;
    for (const tool of tools) {
      length += this.#search.prepare(tool);
      if (length < lengthAtOnce) continue;
      await nextTurn();
      length = 0;
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

/**
 * The tools of the whole fleet as agents see them: under names that every client accepts, hidden where the caller may
 * not use them, found by what they do. Everything here is worked out when a device changes and kept, so that listing
 * costs nothing and a name leads to its tool by one look into a table.
 */
import type { Audience } from "@tendon/protocol";
import type { Clock, Timer } from "../../clock.ts";
import { type Access, asAgent, type Principal } from "../access.ts";
import type { DeviceRecord } from "../device-record.ts";
import type { Names, ToolAddress } from "../names.ts";
import { type ExposedTool, exposedTool } from "./exposed-tool.ts";
import { View } from "./view.ts";

export type { ExposedTool } from "./exposed-tool.ts";

export interface ToolsetNeeds {
  readonly clock: Clock;
  readonly names: Names;
  readonly devices: ReadonlyMap<string, DeviceRecord>;
  readonly shows: (principal: Principal, record: DeviceRecord) => boolean;
  readonly access: (
    principal: Principal,
    record: DeviceRecord,
    tool: { readonly name: string; readonly audience: Audience },
  ) => Access;
}

interface FoundTool {
  readonly tool: ExposedTool;
  /** Higher is better; only to be compared within one answer. */
  readonly score: number;
}

type ChangeListener = (deviceIds: ReadonlySet<string>) => void;

interface Viewing {
  readonly view: View;
  /** How much of the list of changes it has taken in. */
  upTo: number;
}

/** What stands on /mcp beside device tools, always [AGT-6]. */
const compactToolCount = 7;
/** Changes that come together, as when a fleet connects, are told together. */
const tellAfterMs = 50;
const changesKept = 50_000;

export class Toolset {
  readonly #needs: ToolsetNeeds;
  readonly #byDevice = new Map<string, readonly ExposedTool[]>();
  readonly #views = new WeakMap<Principal, Viewing>();
  readonly #listeners = new Set<ChangeListener>();
  /** Ids of devices in the order of their changes; the first of them is change number `#firstChange`. */
  #changes: string[] = [];
  #firstChange = 0;
  #untold = new Set<string>();
  #telling: Timer | undefined;

  constructor(needs: ToolsetNeeds) {
    this.#needs = needs;
  }

  /**
   * What a principal is shown, or of one device. An agent is never shown what it may not use, and user-only tools
   * only where its token names that scope.
   */
  list(principal: Principal, filter: { readonly device?: string | undefined } = {}): readonly ExposedTool[] {
    const view = this.#viewOf(principal);
    return filter.device === undefined ? view.tools() : view.toolsOf(filter.device);
  }

  /**
   * [AGT-2] The tool that an exposed name stands for: names once given lead to it while its device exists, listed or
   * not, online or not. With a device, names without prefix are that device's.
   */
  resolve(
    principal: Principal,
    name: string,
    { device }: { readonly device?: string | undefined } = {},
  ): ToolAddress | undefined {
    const { names, devices, shows } = this.#needs;
    const address = device === undefined ? names.addressOf(name) : names.bareAddressOf(device, name);
    if (address === undefined) return undefined;
    const record = devices.get(address.device);
    return record !== undefined && shows(principal, record) ? address : undefined;
  }

  /** Whether this principal's device tools stand beside the compact ones on /mcp. */
  fits(principal: Principal): boolean {
    return this.#viewOf(principal).fitsBeside(compactToolCount);
  }

  /** The tools that fit a request best, best first. */
  search(
    principal: Principal,
    query: string,
    { device, limit }: { readonly device?: string | undefined; readonly limit: number },
  ): FoundTool[] {
    const words = query.toLowerCase().split(/\s+/);
    return this.list(principal, { device })
      .map((tool) => {
        const text = `${tool.name} ${tool.description}`.toLowerCase();
        return { tool, score: words.filter((word) => text.includes(word)).length };
      })
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, limit);
  }

  /** Told which devices' lists are no longer what they were; several changes at once come together. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Something that shows in the list of this device is not what it was. */
  changed(device: string): void {
    this.#byDevice.delete(device);
    this.#changes.push(device);
    if (this.#changes.length > changesKept) {
      const dropped = this.#changes.length - changesKept / 2;
      this.#changes = this.#changes.slice(dropped);
      this.#firstChange += dropped;
    }
    this.#untold.add(device);
    this.#telling ??= this.#needs.clock.after(tellAfterMs, () => this.#tell());
  }

  stop(): void {
    this.#telling?.cancel();
    this.#listeners.clear();
  }

  #tell(): void {
    const devices = this.#untold;
    this.#untold = new Set();
    this.#telling = undefined;
    for (const listener of this.#listeners) listener(devices);
  }

  #viewOf(principal: Principal): View {
    const lastChange = this.#firstChange + this.#changes.length;
    const viewing = this.#views.get(principal);
    if (viewing !== undefined && viewing.upTo >= this.#firstChange) {
      for (const device of new Set(this.#changes.slice(viewing.upTo - this.#firstChange)))
        viewing.view.refresh(device);
      viewing.upTo = lastChange;
      return viewing.view;
    }
    const view = new View(principal, (asking, device) => this.#shownTools(asking, device));
    for (const device of this.#needs.devices.keys()) view.refresh(device);
    this.#views.set(principal, { view, upTo: lastChange });
    return view;
  }

  #shownTools(principal: Principal, device: string): readonly ExposedTool[] {
    const record = this.#needs.devices.get(device);
    if (record === undefined || !this.#needs.shows(principal, record)) return [];
    const agent = asAgent(principal);
    const all = this.#toolsOf(record);
    const shown = all.flatMap((tool) => {
      const access = this.#needs.access(agent, record, { name: tool.tool, audience: tool.audience });
      if (access === "denied") return [];
      return access === tool.access ? [tool] : [{ ...tool, access }];
    });
    return shown.length === all.length && shown.every((tool, index) => tool === all[index]) ? all : shown;
  }

  #toolsOf(record: DeviceRecord): readonly ExposedTool[] {
    const known = this.#byDevice.get(record.id);
    if (known !== undefined) return known;
    const tools = record.catalogue.tools().map((tool) =>
      exposedTool({ id: record.id, alias: record.alias, board: record.board }, tool, {
        name: record.exposedName(tool.name),
        bareName: this.#needs.names.bare(record.id, tool.name),
      }),
    );
    this.#byDevice.set(record.id, tools);
    return tools;
  }
}

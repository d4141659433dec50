/**
 * The tools of the whole fleet as agents see them: under names that every client accepts, hidden where the caller may
 * not use them, found by what they do. What is shown of a device is worked out when it is first looked at and kept until
 * the device changes: a list is made page by page, and a name leads to its tool by one look into a table.
 */
import { nearNames, type ToolDefinition } from "@tendon/protocol";
import { type Access, asAgent, type Principal } from "../access/access.ts";
import { type Clock, isoTime } from "../clock.ts";
import type { DeviceRecord, Names, ToolAddress } from "../fleet/fleet.ts";
import { Changes } from "./changes.ts";
import { DeviceOrder } from "./device-order.ts";
import type { ExposedTool } from "./exposed-tool.ts";
import { Grace } from "./grace.ts";
import { nearTools } from "./near-tools.ts";
import { SearchUpkeep } from "./search-upkeep.ts";
import { ShownTools } from "./shown-tools.ts";
import { type Sight, View } from "./view.ts";

export type { ExposedTool } from "./exposed-tool.ts";

interface ToolsetSettings {
  /** How many tools stand in one list, ours among them, before device tools are left to search. */
  readonly toolBudget: number;
  /** How long the tools of a device that has left stay in lists. */
  readonly offlineGraceMs: number;
}

export interface ToolsetNeeds extends ToolsetSettings {
  readonly clock: Clock;
  readonly names: Names;
  readonly devices: ReadonlyMap<string, DeviceRecord>;
  readonly shows: (principal: Principal, record: DeviceRecord) => boolean;
  /** Names of devices that may have been meant by one that no device has. */
  readonly nearDevices: (principal: Principal, reference: string) => readonly string[];
  readonly access: (principal: Principal, record: DeviceRecord, tool: ToolDefinition) => Access;
}

export interface FoundTool {
  readonly tool: ExposedTool;
  /** Higher is better; only to be compared within one answer. */
  readonly score: number;
  readonly online: boolean;
  readonly offlineSince?: string;
}

interface Viewing {
  readonly view: View;
  /** How many changes it has taken in. */
  upTo: number;
}

/** What stands on /mcp beside device tools, always [AGT-6]. */
const compactToolCount = 7;

export class Toolset {
  readonly #needs: ToolsetNeeds;
  readonly #changes: Changes;
  readonly #grace: Grace;
  readonly #shown: ShownTools;
  readonly #views = new WeakMap<Principal, Viewing>();
  readonly #search: SearchUpkeep;
  readonly #order: DeviceOrder;
  readonly #sight: Sight;

  constructor(needs: ToolsetNeeds) {
    this.#needs = needs;
    this.#changes = new Changes(needs.clock);
    this.#grace = new Grace(needs.clock, needs.offlineGraceMs, (device) => this.#changes.note(device));
    this.#shown = new ShownTools(needs.names);
    this.#order = new DeviceOrder(needs.devices);
    this.#search = new SearchUpkeep(this.#changes, needs.devices);
    this.#sight = {
      devices: () => needs.devices.keys(),
      has: (device) => needs.devices.has(device),
      isListed: (device) => !this.#grace.isOver(device),
      countListed: (principal, device) => this.#countListed(principal, device),
      toolsOf: (principal, device) => this.#toolsOf(principal, device),
    };
  }

  /** The devices of earlier runs are there. */
  restored(): void {
    const devices = [...this.#needs.devices.values()];
    this.#grace.restore(
      devices.map(({ id, handle, lastOnlineAt }) => ({
        id,
        online: handle !== undefined,
        lastSeenAt: lastOnlineAt,
      })),
    );
  }

  /**
   * What a principal is shown in a list, or all of one device, listed or not. An agent is never shown what it may not
   * use, and user-only tools only where its token names that scope [AGT-5].
   */
  list(principal: Principal, filter: { readonly device?: string | undefined } = {}): readonly ExposedTool[] {
    if (filter.device !== undefined) return this.#viewOf(principal).toolsOf(filter.device);
    return this.page(principal, undefined, Number.POSITIVE_INFINITY);
  }

  /** So many tools of the list, in the order of their names, from the first one after this name. */
  page(principal: Principal, after: string | undefined, most: number): readonly ExposedTool[] {
    const view = this.#viewOf(principal);
    const found: ExposedTool[] = [];
    for (const device of this.#order.after(after)) {
      for (const tool of view.listedOf(device).toSorted(byName)) {
        if (after !== undefined && tool.name <= after) continue;
        found.push(tool);
        if (found.length === most) return found;
      }
    }
    return found;
  }

  /** Another number whenever this principal's list, or what it is shown of one device, may be another. */
  version(principal: Principal, device?: string): number {
    const view = this.#viewOf(principal);
    return device === undefined ? view.version : view.versionOf(device);
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
    const address = device === undefined ? names.addressOf(name) : this.#bareAddressOf(device, name);
    if (address === undefined) return undefined;
    const record = devices.get(address.device);
    return record !== undefined && shows(principal, record) ? address : undefined;
  }

  /** Names that may have been meant by one that leads nowhere, of those that this principal is shown. */
  near(
    principal: Principal,
    name: string,
    { device }: { readonly device?: string | undefined } = {},
  ): readonly string[] {
    if (device !== undefined) {
      const bare = this.list(principal, { device }).map(({ bareName }) => bareName);
      return nearNames(name, bare);
    }
    const { names, nearDevices } = this.#needs;
    const byParts = nearTools(name, {
      deviceOf: (alias) => names.deviceOf(alias),
      nearAliases: (alias) => nearDevices(principal, alias),
      toolsOf: (id) => this.list(principal, { device: id }),
    });
    // Beyond the budget there are too many to look at each.
    if (byParts.length > 0 || !this.fits(principal)) return byParts;
    return nearNames(
      name,
      this.list(principal).map((tool) => tool.name),
    );
  }

  /** Names without prefix are given when a device's tools are first made ready to be shown. */
  #bareAddressOf(device: string, name: string): ToolAddress | undefined {
    const record = this.#needs.devices.get(device);
    if (record === undefined) return undefined;
    const { names } = this.#needs;
    const known = names.bareAddressOf(device, name);
    if (known !== undefined) return known;
    this.#shown.of(record);
    return names.bareAddressOf(device, name);
  }

  /** The devices' own name for a tool that some of them have, by that name or by the one without prefix. */
  async ownName(name: string): Promise<string | undefined> {
    return (await this.#search.current()).ownName(name);
  }

  /** Makes the search ready ahead of the first request. */
  prepareSearch(): void {
    void this.#search.current();
  }

  /** Whether this principal's device tools stand beside the compact ones on /mcp. */
  fits(principal: Principal): boolean {
    return this.#viewOf(principal).fits(compactToolCount, this.#needs.toolBudget);
  }

  /**
   * [AGT-11] The tools that fit a request best, best first; those of devices that are away are found too, after those
   * that fit as well and can be called.
   */
  async search(
    principal: Principal,
    query: string,
    { device, limit }: { readonly device?: string | undefined; readonly limit: number },
  ): Promise<FoundTool[]> {
    const search = await this.#search.current();
    const view = this.#viewOf(principal);
    const find = (id: string, tool: string) => view.toolsOf(id).find((shown) => shown.tool === tool);
    const matches = search.find({
      query,
      limit,
      wanted: (id, tool) => find(id, tool) !== undefined,
      within: device === undefined ? this.#reachOf(principal) : new Set([device]),
      isOnline: (id) => this.#needs.devices.get(id)?.handle !== undefined,
    });
    return matches.flatMap(({ device: id, tool: name, score }) => {
      const tool = find(id, name);
      return tool === undefined ? [] : [{ tool, score, ...this.#presenceOf(id) }];
    });
  }

  /** Told which devices' lists are no longer what they were; several changes at once come together. */
  onChange(listener: (deviceIds: ReadonlySet<string>) => void): () => void {
    return this.#changes.subscribe(listener);
  }

  /** Something that shows in the list of this device is not what it was. */
  changed(device: string): void {
    if (!this.#needs.devices.has(device)) {
      this.#shown.forget(device);
      this.#grace.came(device);
    }
    this.#order.update(device);
    this.#changes.note(device);
  }

  connected(device: string): void {
    if (this.#grace.came(device)) this.#changes.note(device);
  }

  disconnected(device: string): void {
    this.#grace.left(device);
  }

  stop(): void {
    this.#changes.stop();
    this.#grace.stop();
    this.#search.stop();
  }

  #viewOf(principal: Principal): View {
    const { count } = this.#changes;
    const viewing = this.#views.get(principal);
    const changed = viewing === undefined ? undefined : this.#changes.since(viewing.upTo);
    if (viewing !== undefined && changed !== undefined) {
      for (const device of changed) viewing.view.refresh(device);
      viewing.upTo = count;
      return viewing.view;
    }
    const view = new View(principal, this.#sight);
    this.#views.set(principal, { view, upTo: count });
    return view;
  }

  #countListed(principal: Principal, device: string): number {
    const record = this.#needs.devices.get(device);
    if (record === undefined || this.#grace.isOver(device) || !this.#needs.shows(principal, record)) return 0;
    const tools = record.catalogue.tools();
    return tools.filter((tool) => this.#access(principal, record, tool) !== "denied").length;
  }

  #toolsOf(principal: Principal, device: string): readonly ExposedTool[] {
    const record = this.#needs.devices.get(device);
    if (record === undefined || !this.#needs.shows(principal, record)) return [];
    return this.#shown.of(record).flatMap((tool) => {
      const definition = record.catalogue.find(tool.tool);
      const access = definition === undefined ? "denied" : this.#access(principal, record, definition);
      return access === "denied" ? [] : [this.#shown.withAccess(tool, access)];
    });
  }

  /** Even where a rule would let a person be asked, user-only tools are not shown to an agent unless named. */
  #access(principal: Principal, record: DeviceRecord, tool: ToolDefinition): Access {
    const agent = asAgent(principal);
    if (tool.audience === "user" && !agent.scopes.has("call:user")) return "denied";
    return this.#needs.access(agent, record, tool);
  }

  /** The devices of a principal that is limited to some; of the others' devices nothing is even looked at. */
  #reachOf(principal: Principal): ReadonlySet<string> | undefined {
    if (principal.devices === undefined) return undefined;
    const seen = [...this.#needs.devices.values()].filter((record) => this.#needs.shows(principal, record));
    return new Set(seen.map(({ id }) => id));
  }

  #presenceOf(device: string): { readonly online: boolean; readonly offlineSince?: string } {
    const record = this.#needs.devices.get(device);
    if (record?.handle !== undefined) return { online: true };
    const since = record?.lastOnlineAt;
    return { online: false, ...(since === undefined ? {} : { offlineSince: isoTime(since) }) };
  }
}

function byName(a: ExposedTool, b: ExposedTool): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

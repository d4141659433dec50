/**
 * The tools of the whole fleet as agents see them: under names that every client accepts, without those that the caller
 * may not use, and with a search. The tools of a device are computed at the first use and cached until the device
 * changes. A list is made page by page, and a name is resolved by one lookup.
 */
import { nearNames, type ToolDefinition } from "@tendon/protocol";
import { type Access, asAgent, type Principal } from "../access/access.ts";
import { type Clock, isoTime } from "../clock.ts";
import type { DeviceRecord, Names, ToolAddress } from "../fleet/fleet.ts";
import { Changes } from "./changes.ts";
import { DeviceOrder } from "./device-order.ts";
import type { ExposedTool } from "./exposed-tool.ts";
import { ExposedToolCache } from "./exposed-tool-cache.ts";
import { nearTools } from "./near-tools.ts";
import { OfflineGrace } from "./offline-grace.ts";
import { SearchIndexer } from "./search-indexer.ts";
import { type ToolSource, View } from "./view.ts";

export type { ExposedTool } from "./exposed-tool.ts";

interface ToolsetSettings {
  /** The number of tools in one list, compact tools included, above which device tools are found by search only. */
  readonly toolBudget: number;
  /** How long the tools of a disconnected device stay in lists. */
  readonly offlineGraceMs: number;
}

export interface ToolsetDependencies extends ToolsetSettings {
  readonly clock: Clock;
  readonly names: Names;
  readonly devices: ReadonlyMap<string, DeviceRecord>;
  readonly shows: (principal: Principal, record: DeviceRecord) => boolean;
  /** Similar names of devices, for an unknown one. */
  readonly nearDevices: (principal: Principal, reference: string) => readonly string[];
  readonly access: (principal: Principal, record: DeviceRecord, tool: ToolDefinition) => Access;
}

export interface FoundTool {
  readonly tool: ExposedTool;
  /** Higher is better; comparable within one result only. */
  readonly score: number;
  readonly online: boolean;
  readonly offlineSince?: string;
}

interface CachedView {
  readonly view: View;
  /** The number of changes applied to it. */
  upTo: number;
}

/** Compact tools are always listed on /mcp [AGT-6]. */
const compactToolCount = 7;

export class Toolset {
  readonly #dependencies: ToolsetDependencies;
  readonly #changes: Changes;
  readonly #grace: OfflineGrace;
  readonly #exposed: ExposedToolCache;
  readonly #views = new WeakMap<Principal, CachedView>();
  readonly #search: SearchIndexer;
  readonly #order: DeviceOrder;
  readonly #source: ToolSource;

  constructor(dependencies: ToolsetDependencies) {
    this.#dependencies = dependencies;
    this.#changes = new Changes(dependencies.clock);
    this.#grace = new OfflineGrace(dependencies.clock, dependencies.offlineGraceMs, (device) =>
      this.#changes.add(device),
    );
    this.#exposed = new ExposedToolCache(dependencies.names);
    this.#order = new DeviceOrder(dependencies.devices);
    this.#search = new SearchIndexer(this.#changes, dependencies.devices);
    this.#source = {
      devices: () => dependencies.devices.keys(),
      has: (device) => dependencies.devices.has(device),
      isListed: (device) => !this.#grace.isOver(device),
      countListed: (principal, device) => this.#countListed(principal, device),
      toolsOf: (principal, device) => this.#toolsOf(principal, device),
    };
  }

  /** Called when the devices of earlier runs are loaded. */
  restored(): void {
    const devices = [...this.#dependencies.devices.values()];
    this.#grace.restore(
      devices.map(({ id, handle, lastOnlineAt }) => ({
        id,
        online: handle !== undefined,
        lastSeenAt: lastOnlineAt,
      })),
    );
  }

  /**
   * The tools in a principal's list, or all tools of one device, listed or not. An agent sees only tools that it may use,
   * and user-only tools only if its token names `call:user` [AGT-5].
   */
  list(principal: Principal, filter: { readonly device?: string | undefined } = {}): readonly ExposedTool[] {
    if (filter.device !== undefined) return this.#viewOf(principal).toolsOf(filter.device);
    return this.page(principal, undefined, Number.POSITIVE_INFINITY);
  }

  /** At most `most` tools of the list, in the order of their names, after the name `after`. */
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

  /** Changes whenever this principal's list, or its tools of one device, may have changed. */
  version(principal: Principal, device?: string): number {
    const view = this.#viewOf(principal);
    return device === undefined ? view.version : view.versionOf(device);
  }

  /**
   * [AGT-2] The tool of an exposed name. A name resolves while its device exists, listed or not, online or not. With
   * `device`, the name is one without prefix on that device.
   */
  resolve(
    principal: Principal,
    name: string,
    { device }: { readonly device?: string | undefined } = {},
  ): ToolAddress | undefined {
    const { names, devices, shows } = this.#dependencies;
    const address = device === undefined ? names.addressOf(name) : this.#bareAddressOf(device, name);
    if (address === undefined) return undefined;
    const record = devices.get(address.device);
    return record !== undefined && shows(principal, record) ? address : undefined;
  }

  /** Names similar to an unknown one, of tools that this principal sees. */
  near(
    principal: Principal,
    name: string,
    { device }: { readonly device?: string | undefined } = {},
  ): readonly string[] {
    if (device !== undefined) {
      const bare = this.list(principal, { device }).map(({ bareName }) => bareName);
      return nearNames(name, bare);
    }
    const { names, nearDevices } = this.#dependencies;
    const byParts = nearTools(name, {
      deviceOf: (alias) => names.deviceOf(alias),
      nearAliases: (alias) => nearDevices(principal, alias),
      toolsOf: (id) => this.list(principal, { device: id }),
    });
    // Above the budget there are too many tools to compare each.
    if (byParts.length > 0 || !this.fits(principal)) return byParts;
    return nearNames(
      name,
      this.list(principal).map((tool) => tool.name),
    );
  }

  /** Names without prefix are assigned when the device's exposed tools are first computed. */
  #bareAddressOf(device: string, name: string): ToolAddress | undefined {
    const record = this.#dependencies.devices.get(device);
    if (record === undefined) return undefined;
    const { names } = this.#dependencies;
    const known = names.bareAddressOf(device, name);
    if (known !== undefined) return known;
    this.#exposed.of(record);
    return names.bareAddressOf(device, name);
  }

  /** A tool's own name on devices, by that name or by the one without prefix. */
  async ownName(name: string): Promise<string | undefined> {
    return (await this.#search.current()).ownName(name);
  }

  /** Builds the search index before the first request. */
  prepareSearch(): void {
    void this.#search.current();
  }

  /** Whether /mcp lists this principal's device tools beside the compact ones. */
  fits(principal: Principal): boolean {
    return this.#viewOf(principal).fits(compactToolCount, this.#dependencies.toolBudget);
  }

  /**
   * [AGT-11] The tools that match a request, best first. Tools of offline devices are found too, after equally good ones
   * of online devices.
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
      within: device === undefined ? this.#visibleTo(principal) : new Set([device]),
      isOnline: (id) => this.#dependencies.devices.get(id)?.handle !== undefined,
    });
    return matches.flatMap(({ device: id, tool: name, score }) => {
      const tool = find(id, name);
      return tool === undefined ? [] : [{ tool, score, ...this.#presenceOf(id) }];
    });
  }

  /** Calls the listener with the devices whose tools have changed; changes within a short time are combined. */
  onChange(listener: (deviceIds: ReadonlySet<string>) => void): () => void {
    return this.#changes.subscribe(listener);
  }

  /** Applies that the tools, the alias or the rights of this device have changed, or that it is gone. */
  changed(device: string): void {
    if (!this.#dependencies.devices.has(device)) {
      this.#exposed.forget(device);
      this.#grace.end(device);
    }
    this.#order.update(device);
    this.#changes.add(device);
  }

  connected(device: string): void {
    if (this.#grace.end(device)) this.#changes.add(device);
  }

  disconnected(device: string): void {
    this.#grace.start(device);
  }

  stop(): void {
    this.#changes.stop();
    this.#grace.stop();
    this.#search.stop();
  }

  #viewOf(principal: Principal): View {
    const { count } = this.#changes;
    const cached = this.#views.get(principal);
    const changed = cached === undefined ? undefined : this.#changes.since(cached.upTo);
    if (cached !== undefined && changed !== undefined) {
      for (const device of changed) cached.view.refresh(device);
      cached.upTo = count;
      return cached.view;
    }
    const view = new View(principal, this.#source);
    this.#views.set(principal, { view, upTo: count });
    return view;
  }

  #countListed(principal: Principal, device: string): number {
    const record = this.#dependencies.devices.get(device);
    if (record === undefined || this.#grace.isOver(device) || !this.#dependencies.shows(principal, record))
      return 0;
    const tools = record.catalogue.tools();
    return tools.filter((tool) => this.#access(principal, record, tool) !== "denied").length;
  }

  #toolsOf(principal: Principal, device: string): readonly ExposedTool[] {
    const record = this.#dependencies.devices.get(device);
    if (record === undefined || !this.#dependencies.shows(principal, record)) return [];
    return this.#exposed.of(record).flatMap((tool) => {
      const definition = record.catalogue.find(tool.tool);
      const access = definition === undefined ? "denied" : this.#access(principal, record, definition);
      return access === "denied" ? [] : [this.#exposed.withAccess(tool, access)];
    });
  }

  /** User-only tools need a token that names `call:user`, even if a rule would allow them with approval. */
  #access(principal: Principal, record: DeviceRecord, tool: ToolDefinition): Access {
    const agent = asAgent(principal);
    if (tool.audience === "user" && !agent.scopes.has("call:user")) return "denied";
    return this.#dependencies.access(agent, record, tool);
  }

  /** The devices of a principal that is limited to some, so that the search skips all others. */
  #visibleTo(principal: Principal): ReadonlySet<string> | undefined {
    if (principal.devices === undefined) return undefined;
    const seen = [...this.#dependencies.devices.values()].filter((record) =>
      this.#dependencies.shows(principal, record),
    );
    return new Set(seen.map(({ id }) => id));
  }

  #presenceOf(device: string): { readonly online: boolean; readonly offlineSince?: string } {
    const record = this.#dependencies.devices.get(device);
    if (record?.handle !== undefined) return { online: true };
    const since = record?.lastOnlineAt;
    return { online: false, ...(since === undefined ? {} : { offlineSince: isoTime(since) }) };
  }
}

function byName(a: ExposedTool, b: ExposedTool): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

import type { Principal } from "../access/access.ts";
import type { ExposedTool } from "./exposed-tool.ts";

/** The devices and tools of the fleet, as views read them. */
export interface ToolSource {
  /** Every known device. */
  devices(): IterableIterator<string>;
  has(device: string): boolean;
  /** Whether the device's tools are listed. */
  isListed(device: string): boolean;
  /** The number of tools of a device in this principal's list; 0 if it may not see the device, or the device is gone. */
  countListed(principal: Principal, device: string): number;
  /** The tools of a device that this principal may use, listed or not. */
  toolsOf(principal: Principal, device: string): readonly ExposedTool[];
}

interface Shown {
  readonly tools: readonly ExposedTool[];
  readonly listed: boolean;
}

const none: readonly ExposedTool[] = [];
/** Shared by all views, so that a version never repeats. */
let lastVersion = 0;

/**
 * The tools that one principal sees. They are computed per device at the first use, so that a view of a large fleet costs
 * only what is read. When a device changes, only that device is computed again.
 */
export class View {
  readonly #principal: Principal;
  readonly #source: ToolSource;
  readonly #shown = new Map<string, Shown>();
  /** The number of listed tools of each counted device. */
  readonly #counts = new Map<string, number>();
  readonly #uncounted: IterableIterator<string>;
  readonly #versions = new Map<string, number>();
  #count = 0;
  #allCounted = false;
  #fits = true;
  #version = nextVersion();

  constructor(principal: Principal, source: ToolSource) {
    this.#principal = principal;
    this.#source = source;
    this.#uncounted = source.devices();
  }

  /** Changes whenever the list may have changed. */
  get version(): number {
    return this.#version;
  }

  /** The same for one device. */
  versionOf(device: string): number {
    return this.#versions.get(device) ?? 0;
  }

  refresh(device: string): void {
    const before = this.#shown.get(device);
    const countBefore = this.#counts.get(device) ?? 0;
    this.#shown.delete(device);
    if (this.#allCounted || this.#counts.has(device)) this.#recount(device);
    if (!this.#differs(device, before, countBefore)) return;
    this.#version = nextVersion();
    if (this.#source.has(device)) this.#versions.set(device, this.#version);
    else this.#versions.delete(device);
  }

  toolsOf(device: string): readonly ExposedTool[] {
    return this.#read(device)?.tools ?? none;
  }

  /** The listed tools of a device. */
  listedOf(device: string): readonly ExposedTool[] {
    const shown = this.#read(device);
    return shown?.listed === true ? shown.tools : none;
  }

  /** Whether the device tools and `others` fit the budget. The lower bound for returning prevents flapping. */
  fits(others: number, budget: number): boolean {
    const total = this.#countBeyond(budget - others) + others;
    this.#fits = total <= budget && (this.#fits || total < budget * 0.75);
    return this.#fits;
  }

  #read(device: string): Shown | undefined {
    const known = this.#shown.get(device);
    if (known !== undefined) return known;
    const tools = this.#source.toolsOf(this.#principal, device);
    // Not cached: an agent may have invented the name.
    if (tools.length === 0) return undefined;
    const shown = { tools, listed: this.#source.isListed(device) };
    this.#shown.set(device, shown);
    return shown;
  }

  /** Whether this device changes the list. For a device that was never read, only the number of tools is compared. */
  #differs(device: string, before: Shown | undefined, countBefore: number): boolean {
    if (before === undefined) return countBefore > 0 || this.#countOf(device) > 0;
    return !same(before.listed ? before.tools : none, this.listedOf(device));
  }

  /** The number of listed tools; counting stops above `most`. */
  #countBeyond(most: number): number {
    while (!this.#allCounted && this.#count <= most) {
      const { done, value } = this.#uncounted.next();
      if (done === true) this.#allCounted = true;
      else this.#recount(value);
    }
    return this.#count;
  }

  #recount(device: string): void {
    const listed = this.#countOf(device);
    this.#count += listed - (this.#counts.get(device) ?? 0);
    if (this.#source.has(device)) this.#counts.set(device, listed);
    else this.#counts.delete(device);
  }

  #countOf(device: string): number {
    return this.#source.countListed(this.#principal, device);
  }
}

function nextVersion(): number {
  lastVersion += 1;
  return lastVersion;
}

function same(a: readonly ExposedTool[], b: readonly ExposedTool[]): boolean {
  return a.length === b.length && a.every((tool, index) => tool === b[index]);
}

import type { Principal } from "../access/access.ts";
import type { ExposedTool } from "./exposed-tool.ts";

/** What there is to see, for whoever looks. */
export interface Sight {
  /** Every device there is. */
  devices(): IterableIterator<string>;
  has(device: string): boolean;
  /** Whether its tools stand in lists. */
  isListed(device: string): boolean;
  /** How many tools of a device stand in this principal's list: none where it may not see it, or no longer there. */
  countListed(principal: Principal, device: string): number;
  /** The tools of a device that this principal may use, listed or not. */
  toolsOf(principal: Principal, device: string): readonly ExposedTool[];
}

interface Shown {
  readonly tools: readonly ExposedTool[];
  readonly listed: boolean;
}

const none: readonly ExposedTool[] = [];
/** Of all views: no two states of any of them have the same. */
let lastVersion = 0;

/**
 * What one principal is shown. Nothing is worked out before it is asked for, device by device, so that a view of a large
 * fleet costs no more than what is looked at; when a device changes, only that one is looked at again.
 */
export class View {
  readonly #principal: Principal;
  readonly #sight: Sight;
  readonly #shown = new Map<string, Shown>();
  /** How many tools are listed of each device that has been counted. */
  readonly #counts = new Map<string, number>();
  readonly #uncounted: IterableIterator<string>;
  readonly #versions = new Map<string, number>();
  #count = 0;
  #allCounted = false;
  #fits = true;
  #version = nextVersion();

  constructor(principal: Principal, sight: Sight) {
    this.#principal = principal;
    this.#sight = sight;
    this.#uncounted = sight.devices();
  }

  /** Another number whenever the list may be another. */
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
    if (this.#sight.has(device)) this.#versions.set(device, this.#version);
    else this.#versions.delete(device);
  }

  toolsOf(device: string): readonly ExposedTool[] {
    return this.#look(device)?.tools ?? none;
  }

  /** Those that stand in lists. */
  listedOf(device: string): readonly ExposedTool[] {
    const shown = this.#look(device);
    return shown?.listed === true ? shown.tools : none;
  }

  /** Whether the device tools fit beside so many others. The two bounds keep a list at the edge from flapping. */
  fits(others: number, budget: number): boolean {
    const total = this.#countBeyond(budget - others) + others;
    this.#fits = total <= budget && (this.#fits || total < budget * 0.75);
    return this.#fits;
  }

  #look(device: string): Shown | undefined {
    const known = this.#shown.get(device);
    if (known !== undefined) return known;
    const tools = this.#sight.toolsOf(this.#principal, device);
    // Nothing is kept of names that an agent may have made up.
    if (tools.length === 0) return undefined;
    const shown = { tools, listed: this.#sight.isListed(device) };
    this.#shown.set(device, shown);
    return shown;
  }

  /** Whether a list is another by this device. What was never shown is known by its number of tools only. */
  #differs(device: string, before: Shown | undefined, countBefore: number): boolean {
    if (before === undefined) return countBefore > 0 || this.#countOf(device) > 0;
    return !same(before.listed ? before.tools : none, this.listedOf(device));
  }

  /** How many tools are listed, or more than `most` where it is more: counting ends there. */
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
    if (this.#sight.has(device)) this.#counts.set(device, listed);
    else this.#counts.delete(device);
  }

  #countOf(device: string): number {
    return this.#sight.countListed(this.#principal, device);
  }
}

function nextVersion(): number {
  lastVersion += 1;
  return lastVersion;
}

function same(a: readonly ExposedTool[], b: readonly ExposedTool[]): boolean {
  return a.length === b.length && a.every((tool, index) => tool === b[index]);
}

import type { Principal } from "../access.ts";
import type { ExposedTool } from "./exposed-tool.ts";

/** What there is to see, for whoever looks. */
export interface Sight {
  /** How many tools of a device stand in this principal's list: none where it may not see it, or no longer there. */
  countListed(principal: Principal, device: string): number;
  /** The tools of a device that this principal may use, listed or not. */
  toolsOf(principal: Principal, device: string): readonly ExposedTool[];
}

/** What one principal is shown, kept until a device changes; then only that device is looked at again. */
export class View {
  readonly #principal: Principal;
  readonly #sight: Sight;
  /** How many tools of each device are listed. */
  readonly #counts = new Map<string, number>();
  readonly #tools = new Map<string, readonly ExposedTool[]>();
  #count = 0;
  #sorted: readonly ExposedTool[] = [];
  #outdated = true;
  #fits = true;

  constructor(principal: Principal, sight: Sight) {
    this.#principal = principal;
    this.#sight = sight;
  }

  refresh(device: string): void {
    const listed = this.#sight.countListed(this.#principal, device);
    this.#count += listed - (this.#counts.get(device) ?? 0);
    if (listed === 0) this.#counts.delete(device);
    else this.#counts.set(device, listed);
    this.#tools.delete(device);
    this.#outdated = true;
  }

  /** In the order of their names. The same tools are the same list: it changes only when they do. */
  tools(): readonly ExposedTool[] {
    if (!this.#outdated) return this.#sorted;
    const sorted = [...this.#counts.keys()].flatMap((device) => this.toolsOf(device)).sort(byName);
    if (!same(sorted, this.#sorted)) this.#sorted = sorted;
    this.#outdated = false;
    return this.#sorted;
  }

  toolsOf(device: string): readonly ExposedTool[] {
    const known = this.#tools.get(device);
    if (known !== undefined) return known;
    const tools = this.#sight.toolsOf(this.#principal, device);
    // Nothing is kept of names that an agent may have made up.
    if (tools.length > 0) this.#tools.set(device, tools);
    return tools;
  }

  /** Whether the device tools fit beside so many others. The two bounds keep a list at the edge from flapping. */
  fits(others: number, budget: number): boolean {
    const total = this.#count + others;
    this.#fits = total <= budget && (this.#fits || total < budget * 0.75);
    return this.#fits;
  }
}

function byName(a: ExposedTool, b: ExposedTool): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function same(a: readonly ExposedTool[], b: readonly ExposedTool[]): boolean {
  return a.length === b.length && a.every((tool, index) => tool === b[index]);
}

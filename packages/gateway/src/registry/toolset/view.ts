import type { Principal } from "../access.ts";
import type { ExposedTool } from "./exposed-tool.ts";

/** With the compact ones: what clients that send 40 tools at most still send whole [AGT-6]. */
const mostTools = 40;
const backBelow = 30;

/** The tools of one device that a principal is shown; empty where it may not see the device. */
type ToolsOf = (principal: Principal, device: string) => readonly ExposedTool[];

/** What one principal is shown, kept until a device changes; then only that device is looked at again. */
export class View {
  readonly #principal: Principal;
  readonly #toolsOf: ToolsOf;
  readonly #byDevice = new Map<string, readonly ExposedTool[]>();
  #count = 0;
  #sorted: readonly ExposedTool[] | undefined;
  #fits = true;

  constructor(principal: Principal, toolsOf: ToolsOf) {
    this.#principal = principal;
    this.#toolsOf = toolsOf;
  }

  refresh(device: string): void {
    const before = this.#byDevice.get(device);
    const now = this.#toolsOf(this.#principal, device);
    if (before === now) return;
    this.#count += now.length - (before?.length ?? 0);
    if (now.length === 0) this.#byDevice.delete(device);
    else this.#byDevice.set(device, now);
    this.#sorted = undefined;
  }

  /** In the order of their names: the same tools always make the same list. */
  tools(): readonly ExposedTool[] {
    this.#sorted ??= [...this.#byDevice.values()].flat().sort(byName);
    return this.#sorted;
  }

  toolsOf(device: string): readonly ExposedTool[] {
    return this.#byDevice.get(device) ?? [];
  }

  /** Whether the device tools fit beside so many others. The two bounds keep a list at the edge from flapping. */
  fitsBeside(others: number): boolean {
    const total = this.#count + others;
    this.#fits = total <= mostTools && (this.#fits || total < backBelow);
    return this.#fits;
  }
}

function byName(a: ExposedTool, b: ExposedTool): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

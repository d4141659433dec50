/** What one device can do, as it last said; kept while it is offline, so that its tools are known at once again. */
import {
  type ArgumentProblem,
  firmwareHazards,
  type JsonObject,
  limits,
  programHazards,
  type ToolDefinition,
  type ToolSetAside,
} from "@tendon/protocol";
import type { DeviceSession, Listing } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import { refuseArguments } from "./argument-problems.ts";
import { type KnownTool, knownTool } from "./known-tool.ts";

const none: readonly ArgumentProblem[] = [];

export class Catalogue {
  #entries = new Map<string, KnownTool>();
  #setAside: readonly ToolSetAside[] = [];
  /** `undefined` until there has been a list at all. */
  #complete: boolean | undefined;
  #problem: string | undefined;

  get size(): number {
    return this.#entries.size;
  }

  get complete(): boolean {
    return this.#complete === true;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  get setAside(): readonly ToolSetAside[] {
    return this.#setAside;
  }

  tools(): ToolDefinition[] {
    return [...this.#entries.values()].map(({ definition }) => definition);
  }

  find(name: string): ToolDefinition | undefined {
    return this.#entries.get(name)?.definition;
  }

  /** The list of an earlier run. */
  restore(list: Pick<Listing, "tools" | "setAside" | "complete" | "problem">): void {
    this.update({ ...list, silent: false });
  }

  /**
   * Takes a new listing and says whether anything changed. A list that was cut short replaces what it names and
   * keeps the rest: a fault on the way must not make tools vanish.
   */
  update(listing: Listing): boolean {
    const entries = new Map<string, KnownTool>();
    for (const tool of listing.tools) entries.set(tool.name, knownTool(tool));
    if (!listing.complete) {
      for (const [name, entry] of this.#entries) if (!entries.has(name)) entries.set(name, entry);
    }
    const changed = listing.complete !== this.#complete || !sameInOrder(entries, this.#entries);
    this.#entries = entries;
    this.#setAside = listing.setAside;
    this.#complete = listing.complete;
    this.#problem = listing.problem;
    return changed;
  }

  /** [MCP-9…11] Checks a call's arguments before anything is sent; defaults are the device's to fill in. */
  checkArguments(name: string, args: JsonObject, text: string, kind: DeviceSession["kind"]): void {
    const entry = this.#entries.get(name);
    // A tool that is not listed has no schema; what a device would misread is refused all the same.
    const hazards = kind === "esp32" ? firmwareHazards(args) : programHazards(args);
    refuseArguments(hazards);
    // Before the schema: the bound on the work of checking is made for arguments of this size.
    if (Buffer.byteLength(text) > limits.callArgumentBytes.max) {
      throw new TendonError(
        "payload_too_large",
        `arguments may take ${limits.callArgumentBytes.max} bytes at most`,
      );
    }
    const misfits = entry?.misfits(args) ?? none;
    if (misfits.length > 0) refuseArguments(misfits, entry?.misspelt(args));
  }
}

/** Equal tools are one object, so that comparing lists compares no texts. */
function sameInOrder(one: ReadonlyMap<string, KnownTool>, other: ReadonlyMap<string, KnownTool>): boolean {
  if (one.size !== other.size) return false;
  const others = other.values();
  for (const tool of one.values()) if (tool !== others.next().value) return false;
  return true;
}

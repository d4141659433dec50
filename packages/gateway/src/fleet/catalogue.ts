/** The last tool list of a device. It stays while the device is offline, so that its tools remain known. */
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
const allTooLarge = "the tool lists of all devices together are too large; some tools were dropped";

export class Catalogue {
  #entries = new Map<string, KnownTool>();
  #setAside: readonly ToolSetAside[] = [];
  /** `undefined` before the first list. */
  #complete: boolean | undefined;
  #problem: string | undefined;
  #truncated = false;

  get size(): number {
    return this.#entries.size;
  }

  get complete(): boolean {
    return this.#complete === true;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  /** Whether tools of the device were dropped, because it lists too many. */
  get truncated(): boolean {
    return this.#truncated;
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
  restore(list: Omit<Listing, "silent">): void {
    this.update({ ...list, silent: false });
  }

  /**
   * Applies a new listing and returns whether anything changed. An incomplete list replaces the tools that it names and
   * keeps the others, so that a transmission error does not remove tools. A truncated list replaces all.
   */
  update(listing: Listing): boolean {
    const entries = new Map<string, KnownTool>();
    for (const tool of listing.tools) {
      const known = knownTool(tool);
      if (known !== undefined) entries.set(tool.name, known);
    }
    const outOfRoom = entries.size < listing.tools.length;
    if (!listing.complete && !listing.truncated) {
      for (const [name, entry] of this.#entries) {
        if (entries.size >= limits.toolsPerDevice.max) break;
        if (!entries.has(name)) entries.set(name, entry);
      }
    }
    const complete = listing.complete && !outOfRoom;
    const changed = complete !== this.#complete || !sameInOrder(entries, this.#entries);
    this.#entries = entries;
    this.#setAside = listing.setAside;
    this.#complete = complete;
    this.#problem = outOfRoom ? allTooLarge : listing.problem;
    this.#truncated = listing.truncated || outOfRoom;
    return changed;
  }

  /** [MCP-9…11] Checks a call's arguments before it is sent. The device fills in the defaults. */
  checkArguments(name: string, args: JsonObject, text: string, kind: DeviceSession["kind"]): void {
    const entry = this.#entries.get(name);
    // Also for an unlisted tool, which has no schema: the device would misread these arguments.
    const hazards = kind === "esp32" ? firmwareHazards(args) : programHazards(args);
    refuseArguments(hazards);
    // Before the schema check, whose bound on work assumes arguments of at most this size.
    if (Buffer.byteLength(text) > limits.callArgumentBytes.max) {
      throw new TendonError(
        "payload_too_large",
        `arguments are limited to ${limits.callArgumentBytes.max} bytes`,
      );
    }
    const problems = entry?.problems(args) ?? none;
    if (problems.length > 0) refuseArguments(problems, entry?.misspeltHint(args));
  }
}

/** Equal tools are the same object, so that comparing references is enough. */
function sameInOrder(one: ReadonlyMap<string, KnownTool>, other: ReadonlyMap<string, KnownTool>): boolean {
  if (one.size !== other.size) return false;
  const others = other.values();
  for (const tool of one.values()) if (tool !== others.next().value) return false;
  return true;
}

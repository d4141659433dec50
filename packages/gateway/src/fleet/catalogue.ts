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
import { type KnownTools, knownTools, noTools } from "./known-tool.ts";

const none: readonly ArgumentProblem[] = [];
const allTooLarge = "the tool lists of all devices together are too large; some tools were dropped";

export class Catalogue {
  #tools: KnownTools = noTools;
  #setAside: readonly ToolSetAside[] = [];
  /** `undefined` before the first list. */
  #complete: boolean | undefined;
  #problem: string | undefined;
  #truncated = false;

  get size(): number {
    return this.#tools.size;
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

  tools(): readonly ToolDefinition[] {
    return this.#tools.definitions;
  }

  get known(): KnownTools {
    return this.#tools;
  }

  find(name: string): ToolDefinition | undefined {
    return this.#tools.get(name)?.definition;
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
    const listed = knownTools(listing.tools);
    const outOfRoom = listed.size < listing.tools.length;
    const tools = listing.complete || listing.truncated ? listed : listed.with(this.#tools);
    const complete = listing.complete && !outOfRoom;
    const changed = complete !== this.#complete || !tools.equals(this.#tools);
    this.#tools = tools;
    this.#setAside = listing.setAside;
    this.#complete = complete;
    this.#problem = outOfRoom ? allTooLarge : listing.problem;
    this.#truncated = listing.truncated || outOfRoom;
    return changed;
  }

  /** [MCP-9…11] Checks a call's arguments before it is sent. The device fills in the defaults. */
  checkArguments(name: string, args: JsonObject, text: string, kind: DeviceSession["kind"]): void {
    const entry = this.#tools.get(name);
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

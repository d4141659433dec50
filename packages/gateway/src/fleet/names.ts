/**
 * The aliases of devices and the exposed names of their tools [AGT-1…3]. Both are unique. An assigned name belongs to its
 * device as long as the device exists. Most names follow from the alias and the device's list, so that only the others
 * are kept and stored: shortened ones, and those of tools that are no longer listed.
 */
import { createHash } from "node:crypto";
import {
  aliasOfExposedName,
  bareNameOfExposedName,
  bareToolName,
  exposedName,
  fitsAsExposedName,
  limits,
  shortenedName,
} from "@tendon/protocol";
import { TendonError } from "../errors.ts";
import type { KnownTools } from "./known-tool.ts";

export interface ToolAddress {
  readonly device: string;
  readonly tool: string;
}

export interface AssignedName extends ToolAddress {
  readonly name: string;
}

const ALIAS_LENGTH = 24;
const none: readonly string[] = [];

/** The names of one device that do not follow from its alias and its list. */
class SpecialNames {
  /** The oldest first. */
  readonly tools = new Map<string, string>();
  /** alias NUL tool -> name */
  readonly #byTool = new Map<string, string>();

  add(alias: string, name: string, tool: string): void {
    if (this.tools.has(name)) return;
    this.tools.set(name, tool);
    const key = `${alias}\u0000${tool}`;
    if (!this.#byTool.has(key)) this.#byTool.set(key, name);
  }

  of(alias: string, tool: string): string | undefined {
    return this.#byTool.get(`${alias}\u0000${tool}`);
  }

  remove(name: string): void {
    const key = `${aliasOfExposedName(name)}\u0000${this.tools.get(name) ?? ""}`;
    if (this.#byTool.get(key) === name) this.#byTool.delete(key);
    this.tools.delete(name);
  }
}

export class Names {
  /** The tools that a device lists now. */
  readonly #toolsOf: (device: string) => KnownTools | undefined;
  readonly #aliases = new Map<string, string>();
  /** device -> its aliases, earlier ones included. */
  readonly #aliasesOf = new Map<string, readonly string[]>();
  readonly #special = new Map<string, SpecialNames>();
  /** device -> its tools by the name without prefix, computed on first use. */
  readonly #bare = new Map<string, Map<string, string>>();

  constructor(toolsOf: (device: string) => KnownTools | undefined) {
    this.#toolsOf = toolsOf;
  }

  restoreAliases(aliases: ReadonlyMap<string, string>): void {
    for (const [alias, device] of aliases) this.setAlias(device, alias);
  }

  /** Restores the names of earlier runs. The devices and their tools must be known. */
  restore(names: Iterable<AssignedName>): void {
    for (const { name, device, tool } of names) {
      const alias = aliasOfExposedName(name);
      // The store may have names of an alias that belongs to another device now.
      if (this.#aliases.get(alias) !== device || this.addressOf(name)?.tool === tool) continue;
      this.#specialOf(device).add(alias, name, tool);
    }
  }

  forget(device: string): void {
    for (const alias of this.#aliasesOf.get(device) ?? none)
      if (this.#aliases.get(alias) === device) this.#aliases.delete(alias);
    this.#aliasesOf.delete(device);
    this.#special.delete(device);
    this.#bare.delete(device);
  }

  /** [AGT-2] The device and tool of an exposed name, which may be an old one. */
  addressOf(name: string): ToolAddress | undefined {
    const device = this.#aliases.get(aliasOfExposedName(name));
    if (device === undefined) return undefined;
    const tool = this.#ownTool(device, name);
    return tool === undefined ? undefined : { device, tool };
  }

  /** The same for a name without prefix. */
  bareAddressOf(device: string, name: string): ToolAddress | undefined {
    const tool = this.#bareOf(device).get(name);
    return tool === undefined ? undefined : { device, tool };
  }

  /** The name of a tool on an endpoint of one device. The first tool with a name keeps it. */
  bare(device: string, tool: string): string {
    const tools = this.#bareOf(device);
    const plain = bareToolName(tool);
    const isFree = (name: string) => (tools.get(name) ?? tool) === tool;
    const name = isFree(plain) && fitsAsExposedName(plain) ? plain : shortened(plain, device, tool, isFree);
    tools.set(name, tool);
    return name;
  }

  deviceOf(alias: string): string | undefined {
    return this.#aliases.get(alias);
  }

  isFree(alias: string, device: string): boolean {
    return (this.#aliases.get(alias) ?? device) === device;
  }

  /** Assigns an alias to a device, with a number if it is taken. Earlier aliases of the device keep working [AGT-3]. */
  takeAlias(device: string, wanted: string): string {
    let alias = wanted;
    for (let number = 2; !this.isFree(alias, device); number += 1) {
      const tail = `-${number}`;
      alias = `${wanted.slice(0, ALIAS_LENGTH - tail.length)}${tail}`;
    }
    this.setAlias(device, alias);
    return alias;
  }

  /** Assigns a stored alias, even if another device uses it here. That device then takes another one. */
  setAlias(device: string, alias: string): void {
    const owner = this.#aliases.get(alias);
    if (owner === device) return;
    if (owner !== undefined) this.#removeAlias(owner, alias);
    this.#aliases.set(alias, device);
    this.#aliasesOf.set(device, [...(this.#aliasesOf.get(device) ?? none), alias]);
  }

  /** Moves an alias to the device that the store has it for, and removes the names that were derived from it. */
  releaseAlias(device: string, alias: string, holder: string): void {
    const special = this.#special.get(device);
    for (const name of special?.tools.keys() ?? [])
      if (aliasOfExposedName(name) === alias) special?.remove(name);
    this.setAlias(holder, alias);
    this.#bare.delete(device);
  }

  exposed(device: string, alias: string, tool: string): string {
    const special = this.#special.get(device)?.of(alias, tool);
    if (special !== undefined) return special;
    const plain = exposedName(alias, tool);
    const isFree = (name: string) => (this.#ownTool(device, name) ?? tool) === tool;
    const fits = fitsAsExposedName(plain);
    if (fits && this.#ownTool(device, plain) === tool) return plain;
    const name = fits && isFree(plain) ? plain : shortened(plain, device, tool, isFree);
    this.#specialOf(device).add(alias, name, tool);
    return name;
  }

  /** The device has another list now. The names of the tools that it listed before still belong to them. */
  listChanged(device: string, before: KnownTools, after: KnownTools): void {
    this.#bare.delete(device);
    for (const [bare, tool] of before.bareNames) {
      if (after.bareNames.get(bare) === tool) continue;
      for (const alias of this.#aliasesOf.get(device) ?? none) {
        const name = exposedName(alias, tool);
        if (fitsAsExposedName(name)) this.#specialOf(device).add(alias, name, tool);
      }
    }
  }

  /** The names to store: those that do not follow from the alias and the list. Assigns missing ones. */
  specialNames(device: string, alias: string): readonly AssignedName[] {
    const listed = this.#toolsOf(device);
    if (listed !== undefined && (this.#special.has(device) || !listed.followsRule(alias)))
      for (const { name } of listed.definitions) this.exposed(device, alias, name);
    const special = this.#special.get(device);
    return special === undefined ? [] : [...special.tools].map(([name, tool]) => ({ name, device, tool }));
  }

  /** Drops the oldest names of tools that are gone, if the device has too many. Returns them. */
  prune(device: string): readonly string[] {
    const special = this.#special.get(device);
    if (special === undefined) return none;
    const listed = this.#toolsOf(device);
    let excess = special.tools.size + (listed?.size ?? 0) - limits.namesPerDevice.max;
    const dropped: string[] = [];
    for (const [name, tool] of special.tools) {
      if (excess <= 0) break;
      if (listed?.get(tool) !== undefined) continue;
      special.remove(name);
      dropped.push(name);
      excess -= 1;
    }
    if (dropped.length > 0) this.#bare.delete(device);
    return dropped;
  }

  #specialOf(device: string): SpecialNames {
    const known = this.#special.get(device);
    if (known !== undefined) return known;
    const created = new SpecialNames();
    this.#special.set(device, created);
    return created;
  }

  /** The tool of this device that has the name, specially or by the rule. */
  #ownTool(device: string, name: string): string | undefined {
    const special = this.#special.get(device)?.tools.get(name);
    if (special !== undefined || !fitsAsExposedName(name)) return special;
    return this.#toolsOf(device)?.bareNames.get(bareNameOfExposedName(name));
  }

  #removeAlias(device: string, alias: string): void {
    const others = this.#aliasesOf.get(device)?.filter((other) => other !== alias) ?? none;
    this.#aliasesOf.set(device, others);
  }

  /** A tool whose exposed name ends in its plain name keeps the plain name here, also when it is no longer listed. */
  #bareOf(device: string): Map<string, string> {
    const known = this.#bare.get(device);
    if (known !== undefined) return known;
    const tools = new Map<string, string>();
    for (const [name, tool] of this.#special.get(device)?.tools ?? []) {
      const plain = bareToolName(tool);
      if (name.endsWith(`__${plain}`) && !tools.has(plain)) tools.set(plain, tool);
    }
    for (const [plain, tool] of this.#toolsOf(device)?.bareNames ?? [])
      if (!tools.has(plain)) tools.set(plain, tool);
    this.#bare.set(device, tools);
    return tools;
  }
}

/** Tries further digests while the shortened name belongs to another tool. */
function shortened(plain: string, device: string, tool: string, isFree: (name: string) => boolean): string {
  let name = shortenedName(plain, device, tool, sha256Hex);
  for (let attempt = 1; !isFree(name); attempt += 1) {
    name = shortenedName(plain, device, `${tool}\u0000${attempt}`, sha256Hex);
  }
  return name;
}

function sha256Hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function aliasTaken(alias: string): TendonError {
  return new TendonError(
    "conflict",
    `another device uses or used the alias \`${alias}\`; choose another alias`,
  );
}

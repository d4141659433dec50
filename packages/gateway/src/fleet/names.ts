/**
 * The aliases of devices and the exposed names of their tools [AGT-1…3]. Both are unique. An assigned name stays in the
 * table as long as its device exists. Names are looked up in the table and never parsed.
 */
import { createHash } from "node:crypto";
import { bareToolName, exposedName, fitsAsExposedName, limits, shortenedName } from "@tendon/protocol";
import { TendonError } from "../errors.ts";

export interface ToolAddress {
  readonly device: string;
  readonly tool: string;
}

const ALIAS_LENGTH = 24;

export class Names {
  readonly #aliases = new Map<string, string>();
  readonly #addresses = new Map<string, ToolAddress>();
  /** device NUL tool NUL alias -> name, so that each name is computed once. */
  readonly #assigned = new Map<string, string>();
  /** device -> all exposed names of its tools, old ones included. */
  readonly #ofDevice = new Map<string, string[]>();
  /** device -> its tools by the name without prefix, computed on first use. */
  readonly #bare = new Map<string, Map<string, string>>();

  /** Restores the names of earlier runs. */
  restore(aliases: ReadonlyMap<string, string>, names: Iterable<{ name: string } & ToolAddress>): void {
    for (const [alias, device] of aliases) this.#aliases.set(alias, device);
    for (const { name, device, tool } of names) this.#assign(name, { device, tool });
  }

  forget(device: string): void {
    for (const [alias, owner] of this.#aliases) if (owner === device) this.#aliases.delete(alias);
    for (const name of this.#ofDevice.get(device) ?? []) this.#addresses.delete(name);
    for (const key of this.#assigned.keys())
      if (key.startsWith(`${device}\u0000`)) this.#assigned.delete(key);
    this.#ofDevice.delete(device);
    this.#bare.delete(device);
  }

  /** [AGT-2] The device and tool of an exposed name, which may be an old one. */
  addressOf(name: string): ToolAddress | undefined {
    return this.#addresses.get(name);
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
    this.#aliases.set(alias, device);
    return alias;
  }

  /** Assigns a stored alias, even if another device uses it here. That device then takes another one. */
  setAlias(device: string, alias: string): void {
    this.#aliases.set(alias, device);
  }

  /** Moves an alias to the device that the store has it for, and removes the names that were derived from it. */
  releaseAlias(device: string, alias: string, holder: string): void {
    this.#aliases.set(alias, holder);
    const names = this.#ofDevice.get(device) ?? [];
    const kept = names.filter((name) => {
      const key = `${device}\u0000${this.#addresses.get(name)?.tool ?? ""}\u0000${alias}`;
      if (this.#assigned.get(key) !== name) return true;
      this.#assigned.delete(key);
      this.#addresses.delete(name);
      return false;
    });
    this.#ofDevice.set(device, kept);
    this.#bare.delete(device);
  }

  exposed(device: string, alias: string, tool: string): string {
    const key = `${device}\u0000${tool}\u0000${alias}`;
    const assigned = this.#assigned.get(key);
    if (assigned !== undefined) return assigned;
    const plain = exposedName(alias, tool);
    const isFree = (name: string) => {
      const holder = this.#addresses.get(name);
      return holder === undefined || (holder.device === device && holder.tool === tool);
    };
    const name = isFree(plain) && fitsAsExposedName(plain) ? plain : shortened(plain, device, tool, isFree);
    this.#assigned.set(key, name);
    this.#assign(name, { device, tool });
    return name;
  }

  /** Drops the oldest names of tools that are gone, if the device has too many. Returns them. */
  prune(device: string, isListed: (tool: string) => boolean): readonly string[] {
    const names = this.#ofDevice.get(device) ?? [];
    let excess = names.length - limits.namesPerDevice.max;
    if (excess <= 0) return [];
    const dropped = new Set<string>();
    for (const name of names) {
      if (excess === 0) break;
      if (isListed(this.#addresses.get(name)?.tool ?? "")) continue;
      dropped.add(name);
      this.#addresses.delete(name);
      excess -= 1;
    }
    for (const [key, name] of this.#assigned) if (dropped.has(name)) this.#assigned.delete(key);
    this.#ofDevice.set(
      device,
      names.filter((name) => !dropped.has(name)),
    );
    this.#bare.delete(device);
    return [...dropped];
  }

  #assign(name: string, address: ToolAddress): void {
    if (this.#addresses.has(name)) return;
    this.#addresses.set(name, address);
    const names = this.#ofDevice.get(address.device);
    if (names === undefined) this.#ofDevice.set(address.device, [name]);
    else names.push(name);
  }

  /** A tool whose exposed name ends in its plain name keeps the plain name here, also when it is no longer listed. */
  #bareOf(device: string): Map<string, string> {
    const known = this.#bare.get(device);
    if (known !== undefined) return known;
    const tools = new Map<string, string>();
    for (const name of this.#ofDevice.get(device) ?? []) {
      const tool = this.#addresses.get(name)?.tool ?? "";
      const plain = bareToolName(tool);
      if (name.endsWith(`__${plain}`) && !tools.has(plain)) tools.set(plain, tool);
    }
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

/**
 * Aliases of devices and the names agents see. Both are unique, and an exposed name once given is looked up in a
 * table for as long as its device exists; it is never taken apart again [AGT-1…3].
 */
import { createHash } from "node:crypto";
import { bareToolName, exposedName, fitsAsExposedName, shortenedName } from "@tendon/protocol";
import { TendonError } from "../errors.ts";

export interface ToolAddress {
  readonly device: string;
  readonly tool: string;
}

const ALIAS_LENGTH = 24;

export class Names {
  readonly #aliases = new Map<string, string>();
  readonly #addresses = new Map<string, ToolAddress>();
  /** device NUL tool NUL alias -> name, so that a name is worked out once. */
  readonly #given = new Map<string, string>();
  /** device -> exposed names it was ever given. */
  readonly #ofDevice = new Map<string, string[]>();
  /** device -> its tools by the name without prefix, worked out when first asked for. */
  readonly #bare = new Map<string, Map<string, string>>();

  /** What was given in earlier runs. */
  restore(aliases: ReadonlyMap<string, string>, names: Iterable<{ name: string } & ToolAddress>): void {
    for (const [alias, device] of aliases) this.#aliases.set(alias, device);
    for (const { name, device, tool } of names) this.#give(name, { device, tool });
  }

  forget(device: string): void {
    for (const [alias, owner] of this.#aliases) if (owner === device) this.#aliases.delete(alias);
    for (const name of this.#ofDevice.get(device) ?? []) this.#addresses.delete(name);
    for (const key of this.#given.keys()) if (key.startsWith(`${device}\u0000`)) this.#given.delete(key);
    this.#ofDevice.delete(device);
    this.#bare.delete(device);
  }

  /** [AGT-2] Whose tool this exposed name is, or was when it was given. */
  addressOf(name: string): ToolAddress | undefined {
    return this.#addresses.get(name);
  }

  /** The same for a name without prefix. */
  bareAddressOf(device: string, name: string): ToolAddress | undefined {
    const tool = this.#bareOf(device).get(name);
    return tool === undefined ? undefined : { device, tool };
  }

  /** The name of a tool where only its device is shown; whoever had it first keeps it. */
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

  /** Gives a device its alias, or the nearest free one. Aliases it had before keep leading to it [AGT-3]. */
  takeAlias(device: string, wanted: string): string {
    let alias = wanted;
    for (let number = 2; !this.isFree(alias, device); number += 1) {
      const tail = `-${number}`;
      alias = `${wanted.slice(0, ALIAS_LENGTH - tail.length)}${tail}`;
    }
    this.#aliases.set(alias, device);
    return alias;
  }

  /** What is written down counts: whoever else went by it here has to look for another. */
  ownAlias(device: string, alias: string): void {
    this.#aliases.set(alias, device);
  }

  /** The alias turned out to be another device's: what was named after it is that one's to name. */
  giveUp(device: string, alias: string, holder: string): void {
    this.#aliases.set(alias, holder);
    const names = this.#ofDevice.get(device) ?? [];
    const kept = names.filter((name) => {
      const key = `${device}\u0000${this.#addresses.get(name)?.tool ?? ""}\u0000${alias}`;
      if (this.#given.get(key) !== name) return true;
      this.#given.delete(key);
      this.#addresses.delete(name);
      return false;
    });
    this.#ofDevice.set(device, kept);
    this.#bare.delete(device);
  }

  exposed(device: string, alias: string, tool: string): string {
    const key = `${device}\u0000${tool}\u0000${alias}`;
    const given = this.#given.get(key);
    if (given !== undefined) return given;
    const plain = exposedName(alias, tool);
    const isFree = (name: string) => {
      const holder = this.#addresses.get(name);
      return holder === undefined || (holder.device === device && holder.tool === tool);
    };
    const name = isFree(plain) && fitsAsExposedName(plain) ? plain : shortened(plain, device, tool, isFree);
    this.#given.set(key, name);
    this.#give(name, { device, tool });
    return name;
  }

  #give(name: string, address: ToolAddress): void {
    if (this.#addresses.has(name)) return;
    this.#addresses.set(name, address);
    const given = this.#ofDevice.get(address.device);
    if (given === undefined) this.#ofDevice.set(address.device, [name]);
    else given.push(name);
  }

  /** A tool that once had its plain name behind the prefix has it without, also when it is no longer listed. */
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

/** Six digits are enough until they are not: a name that is somebody's is never given to another. */
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
  return new TendonError("conflict", `another device has, or had, the alias \`${alias}\``);
}

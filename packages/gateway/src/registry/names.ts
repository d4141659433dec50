/**
 * Aliases of devices and the names agents see. Both are unique, and an exposed name once given is looked up in a
 * table for as long as its device exists; it is never taken apart again [AGT-1…3].
 */
import { createHash } from "node:crypto";
import { exposedName, fitsAsExposedName, shortenedName } from "@tendon/protocol";

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

  /** What was given in earlier runs. */
  restore(aliases: ReadonlyMap<string, string>, names: Iterable<{ name: string } & ToolAddress>): void {
    for (const [alias, device] of aliases) this.#aliases.set(alias, device);
    for (const { name, device, tool } of names) this.#addresses.set(name, { device, tool });
  }

  forget(device: string): void {
    for (const [alias, owner] of this.#aliases) if (owner === device) this.#aliases.delete(alias);
    for (const [name, address] of this.#addresses)
      if (address.device === device) this.#addresses.delete(name);
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

  exposed(device: string, alias: string, tool: string): string {
    const key = `${device}\u0000${tool}\u0000${alias}`;
    const given = this.#given.get(key);
    if (given !== undefined) return given;
    const plain = exposedName(alias, tool);
    const taken = this.#addresses.get(plain);
    const free = taken === undefined || (taken.device === device && taken.tool === tool);
    const name = free && fitsAsExposedName(plain) ? plain : shortenedName(plain, device, tool, sha256Hex);
    this.#given.set(key, name);
    this.#addresses.set(name, { device, tool });
    return name;
  }
}

function sha256Hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

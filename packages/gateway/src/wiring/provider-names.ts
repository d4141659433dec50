/**
 * The devices of tool providers [END-11]: one for each token and server name. The id is made from the server's name, with a
 * number if it is taken, and stays with the token's name and the server's name.
 */
import { isObject } from "@tendon/protocol";
import type { Principal } from "../access/access.ts";
import type { Store } from "../store/store.ts";

const prefix = "endpoint_device:";
const maxLength = 24;

type Settings = Pick<Store["settings"], "getOrMake" | "get" | "startingWith">;

export class ProviderNames {
  readonly #settings: Settings;
  /** Whether no other kind of device has this id or alias. */
  readonly #isFree: (id: string) => boolean;

  constructor(settings: Settings, isFree: (id: string) => boolean) {
    this.#settings = settings;
    this.#isFree = isFree;
  }

  async deviceFor(token: string, serverName = ""): Promise<string> {
    const name = serverName.slice(0, 128);
    const plain = slugOf(name);
    for (let number = 1; ; number += 1) {
      const tail = number === 1 ? "" : `-${number}`;
      const id = `${plain.slice(0, maxLength - tail.length)}${tail}`;
      const known = await this.#settings.get(`${prefix}${id}`);
      if (known === undefined && !this.#isFree(id)) continue;
      const owner = known ?? (await this.#settings.getOrMake(`${prefix}${id}`, () => ({ token, name })));
      if (isObject(owner) && owner["token"] === token && owner["name"] === name) return id;
    }
  }

  /** A token that is limited to some devices also sees those of its own providers. */
  async withProviders(principal: Principal): Promise<Principal> {
    if (principal.devices === undefined) return principal;
    const all = await this.#settings.startingWith(prefix);
    const own = [...all].flatMap(([id, owner]) =>
      isObject(owner) && owner["token"] === principal.name ? [id] : [],
    );
    const { ids, tags } = principal.devices;
    return { ...principal, devices: { ids: new Set([...ids, ...own]), tags } };
  }
}

/** An alias: small letters, digits and dashes, beginning with a letter. */
function slugOf(name: string): string {
  const plain = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, maxLength)
    .replace(/-+$/, "");
  return /^[a-z]/.test(plain) ? plain : `provider${plain === "" ? "" : `-${plain}`}`.slice(0, maxLength);
}

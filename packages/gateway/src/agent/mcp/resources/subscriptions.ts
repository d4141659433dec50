import { ResourceNotFoundError } from "@modelcontextprotocol/server";
import { limits } from "@tendon/protocol";
import { TendonError } from "../../../errors.ts";
import type { AgentView } from "../agent-view.ts";
import { partOf, readDeviceUri } from "./device-uri.ts";

/** What one session, or one stream of the newer era, wants to be told of. */
export class Subscriptions {
  readonly #view: AgentView;
  /** Each with what of a device it leads to, where it is one of Tendon's own. */
  readonly #uris = new Map<string, string | undefined>();
  /** The other way round: a device has several names, and former ones count too [AGT-3]. */
  readonly #ofParts = new Map<string, Set<string>>();
  /** Those that a device was asked to tell. */
  readonly #passedOn = new Set<string>();
  #closed = false;

  constructor(view: AgentView) {
    this.#view = view;
  }

  get size(): number {
    return this.#uris.size;
  }

  has(uri: string): boolean {
    return this.#uris.has(uri);
  }

  /** The addresses under which this part of a device is watched. */
  watched(device: string, part: string): Iterable<string> {
    return this.#ofParts.get(keyOf(device, part)) ?? [];
  }

  async add(uri: string): Promise<void> {
    if (this.#closed || this.#uris.has(uri)) return;
    if (this.#uris.size >= limits.mcpSubscriptions.max) {
      throw new TendonError("rate_limited", `at most ${limits.mcpSubscriptions.max} resources are watched`);
    }
    const { services, principal, surface, program } = this.#view;
    const own = readDeviceUri(uri);
    if (own === undefined && surface.kind === "device" && program?.resources === true) {
      await this.#passOn(surface.device, uri);
      return;
    }
    if (own === undefined) throw new ResourceNotFoundError(uri);
    const device = services.fleet.idOf(own.device);
    const elsewhere = surface.kind === "device" && surface.device !== device;
    if (elsewhere || !services.fleet.visible(principal, device)) throw new ResourceNotFoundError(uri);
    const key = keyOf(device, partOf(own));
    this.#uris.set(uri, key);
    const same = this.#ofParts.get(key);
    if (same === undefined) this.#ofParts.set(key, new Set([uri]));
    else same.add(uri);
  }

  async #passOn(device: string, uri: string): Promise<void> {
    const { services, principal } = this.#view;
    this.#uris.set(uri, undefined);
    this.#passedOn.add(uri);
    try {
      await services.fleet.passthrough.watch(principal, device, uri);
    } catch (error) {
      this.#uris.delete(uri);
      this.#passedOn.delete(uri);
      throw error;
    }
  }

  remove(uri: string): void {
    const key = this.#uris.get(uri);
    this.#uris.delete(uri);
    const same = key === undefined ? undefined : this.#ofParts.get(key);
    same?.delete(uri);
    if (key !== undefined && same?.size === 0) this.#ofParts.delete(key);
    const { services, surface } = this.#view;
    if (surface.kind === "device" && this.#passedOn.delete(uri))
      services.fleet.passthrough.unwatch(surface.device, uri);
  }

  /** For good: whoever wanted to be told is gone. */
  close(): void {
    this.#closed = true;
    for (const uri of [...this.#uris.keys(), ...this.#passedOn]) this.remove(uri);
  }
}

function keyOf(device: string, part: string): string {
  return `${device}\u0000${part}`;
}

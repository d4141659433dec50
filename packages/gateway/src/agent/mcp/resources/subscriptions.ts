import { ResourceNotFoundError } from "@modelcontextprotocol/server";
import { limits } from "@tendon/protocol";
import { TendonError } from "../../../errors.ts";
import type { AgentView } from "../agent-view.ts";
import { partOf, readDeviceUri } from "./device-uri.ts";

/** The resource subscriptions of one session, or of one stream of the newer era. */
export class Subscriptions {
  readonly #view: AgentView;
  /** Each URI with the key of its device and part, if it is one of Tendon's own. */
  readonly #uris = new Map<string, string | undefined>();
  /** The URIs of each key: a device may be named by its id, its alias and former aliases [AGT-3]. */
  readonly #ofParts = new Map<string, Set<string>>();
  /** The subscriptions that were passed on to a program. */
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

  /** The URIs by which the client subscribed to this part of a device. */
  watched(device: string, part: string): Iterable<string> {
    return this.#ofParts.get(keyOf(device, part)) ?? [];
  }

  async add(uri: string): Promise<void> {
    if (this.#closed || this.#uris.has(uri)) return;
    if (this.#uris.size >= limits.mcpSubscriptions.max) {
      const detail = `a client may subscribe to ${limits.mcpSubscriptions.max} resources at most`;
      throw new TendonError("rate_limited", detail);
    }
    const { services, principal, selection, program } = this.#view;
    const own = readDeviceUri(uri);
    if (own === undefined && selection.kind === "device" && program?.resources === true) {
      await this.#passOn(selection.device, uri);
      return;
    }
    if (own === undefined) throw new ResourceNotFoundError(uri);
    const device = services.fleet.idOf(own.device);
    const otherDevice = selection.kind === "device" && selection.device !== device;
    if (otherDevice || !services.fleet.visible(principal, device)) throw new ResourceNotFoundError(uri);
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
    const { services, selection } = this.#view;
    if (selection.kind === "device" && this.#passedOn.delete(uri))
      services.fleet.passthrough.unwatch(selection.device, uri);
  }

  /** Removes all subscriptions; later ones are ignored. */
  close(): void {
    this.#closed = true;
    for (const uri of [...this.#uris.keys(), ...this.#passedOn]) this.remove(uri);
  }
}

function keyOf(device: string, part: string): string {
  return `${device}\u0000${part}`;
}

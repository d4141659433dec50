import { ResourceNotFoundError } from "@modelcontextprotocol/server";
import { limits } from "@tendon/protocol";
import { TendonError } from "../../../errors.ts";
import type { AgentView } from "../agent-view.ts";
import { readDeviceUri } from "./device-uri.ts";

/** What one session, or one stream of the newer era, wants to be told of. */
export class Subscriptions {
  readonly #view: AgentView;
  readonly #uris = new Set<string>();
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

  async add(uri: string): Promise<void> {
    if (this.#closed || this.#uris.has(uri)) return;
    if (this.#uris.size >= limits.mcpSubscriptions.max) {
      throw new TendonError("rate_limited", `at most ${limits.mcpSubscriptions.max} resources are watched`);
    }
    const { registry, principal, surface, extras } = this.#view;
    const own = readDeviceUri(uri);
    if (own === undefined && surface.kind === "device" && extras?.resources === true) {
      await this.#passOn(surface.device, uri);
      return;
    }
    if (own === undefined || !registry.visible(principal, registry.idOf(own.device))) {
      throw new ResourceNotFoundError(uri);
    }
    this.#uris.add(uri);
  }

  async #passOn(device: string, uri: string): Promise<void> {
    const { registry, principal } = this.#view;
    this.#uris.add(uri);
    this.#passedOn.add(uri);
    try {
      await registry.extras.watch(principal, device, uri);
    } catch (error) {
      this.#uris.delete(uri);
      this.#passedOn.delete(uri);
      throw error;
    }
  }

  remove(uri: string): void {
    this.#uris.delete(uri);
    const { registry, surface } = this.#view;
    if (surface.kind === "device" && this.#passedOn.delete(uri)) registry.extras.unwatch(surface.device, uri);
  }

  /** For good: whoever wanted to be told is gone. */
  close(): void {
    this.#closed = true;
    for (const uri of [...this.#uris, ...this.#passedOn]) this.remove(uri);
  }
}

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
    if (this.#uris.has(uri)) return;
    if (this.#uris.size >= limits.mcpSubscriptions.max) {
      throw new TendonError("rate_limited", `at most ${limits.mcpSubscriptions.max} resources are watched`);
    }
    const { registry, principal, surface, extras } = this.#view;
    const own = readDeviceUri(uri);
    if (own !== undefined) {
      if (!registry.visible(principal, registry.idOf(own.device))) throw new ResourceNotFoundError(uri);
    } else if (surface.kind === "device" && extras?.resources === true) {
      this.#passedOn.add(uri);
      await registry.extras.watch(principal, surface.device, uri);
    } else {
      throw new ResourceNotFoundError(uri);
    }
    this.#uris.add(uri);
  }

  remove(uri: string): void {
    this.#uris.delete(uri);
    const { registry, surface } = this.#view;
    if (surface.kind === "device" && this.#passedOn.delete(uri)) registry.extras.unwatch(surface.device, uri);
  }

  clear(): void {
    for (const uri of [...this.#uris, ...this.#passedOn]) this.remove(uri);
  }
}

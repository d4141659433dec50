import type { Client, McpSubscription } from "@modelcontextprotocol/client";

const stepTimeoutMs = 20_000;

/**
 * Subscribes to the changes of a standard MCP server. Older servers notify without a request and know
 * `resources/subscribe`. Newer ones have one stream with a filter, which is opened again when the filter changes.
 */
export class McpWatch {
  readonly #client: Client;
  /** If set, a missing or lost stream is reported here instead of failing the connection. */
  readonly #lost: (() => void) | undefined;
  readonly #uris = new Set<string>();
  #stream: McpSubscription | undefined;
  #stopped = false;
  /** Changes run one after the other. */
  #changing: Promise<void> = Promise.resolve();

  constructor(client: Client, lost?: () => void) {
    this.#client = client;
    this.#lost = lost;
  }

  /** `uris`: the resources that an earlier connection watched. */
  start(uris: Iterable<string> = []): Promise<void> {
    return this.#change(async () => {
      for (const uri of uris) this.#uris.add(uri);
      await this.#listen();
      if (this.#isModern) return;
      for (const uri of uris)
        await this.#client.subscribeResource({ uri }, { timeout: stepTimeoutMs }).catch(() => undefined);
    });
  }

  /** Returns the watched resources. */
  stop(): ReadonlySet<string> {
    this.#stopped = true;
    return this.#uris;
  }

  /** Whether the stream of a newer server is open. */
  get isOpen(): boolean {
    return this.#stream !== undefined;
  }

  watch(uri: string): Promise<void> {
    return this.#change(async () => {
      if (this.#uris.has(uri)) return;
      this.#uris.add(uri);
      if (this.#isModern) await this.#listen();
      else await this.#client.subscribeResource({ uri }, { timeout: stepTimeoutMs });
    });
  }

  unwatch(uri: string): Promise<void> {
    return this.#change(async () => {
      if (!this.#uris.delete(uri)) return;
      if (this.#isModern) await this.#listen();
      else await this.#client.unsubscribeResource({ uri }, { timeout: stepTimeoutMs });
    });
  }

  get #isModern(): boolean {
    return this.#client.getProtocolEra() === "modern";
  }

  #change(work: () => Promise<void>): Promise<void> {
    const done = this.#changing.then(work);
    this.#changing = done.catch(() => undefined);
    return done;
  }

  async #listen(): Promise<void> {
    if (!this.#isModern) return;
    const { tools, prompts, resources } = this.#client.getServerCapabilities() ?? {};
    const filter = {
      ...(tools?.listChanged === true ? { toolsListChanged: true } : {}),
      ...(prompts?.listChanged === true ? { promptsListChanged: true } : {}),
      ...(resources?.listChanged === true ? { resourcesListChanged: true } : {}),
      ...(resources?.subscribe === true && this.#uris.size > 0
        ? { resourceSubscriptions: [...this.#uris] }
        : {}),
    };
    const before = this.#stream;
    // Opens the new stream first, so that no change is missed.
    this.#stream = Object.keys(filter).length === 0 ? undefined : await this.#open(filter);
    await before?.close();
  }

  async #open(filter: Parameters<Client["listen"]>[0]): Promise<McpSubscription | undefined> {
    try {
      const stream = await this.#client.listen(filter, { timeout: stepTimeoutMs });
      void stream.closed.then((cause) => {
        if (this.#stream !== stream || cause === "local") return;
        this.#stream = undefined;
        if (!this.#stopped) this.#lost?.();
      });
      return stream;
    } catch (error) {
      if (this.#lost === undefined || this.#stopped) throw error;
      this.#lost();
      return undefined;
    }
  }
}

/**
 * Which node holds which device: one key per device in a JetStream bucket. The revision of a key is the fencing number: a
 * later claim has a higher one and wins. Removing a claim names its revision, so that it never removes a newer claim.
 */
import type { KV, KvWatchEntry } from "@nats-io/kv";
import { messageOf } from "../errors.ts";
import type { NatsLink } from "./nats-link.ts";

export interface Claim {
  readonly instance: string;
  /** The machine's name. */
  readonly node: string;
  readonly transport: string;
  readonly kind: "esp32" | "process" | "http" | "endpoint";
  readonly hasTools: boolean;
  readonly connectedAt: number;
  /** What an MCP program offers beside its tools. */
  readonly mcp?:
    | {
        readonly resources: boolean;
        readonly prompts: boolean;
        readonly completions: boolean;
        readonly asksDuringCalls: boolean;
        readonly subscribe: boolean;
      }
    | undefined;
}

export interface Placed {
  readonly claim: Claim;
  readonly revision: number;
}

export interface DirectoryDependencies {
  readonly link: NatsLink;
  /** `undefined`: no node holds the device now. */
  readonly onPlaced: (device: string, placed: Placed | undefined, revision: number) => void;
  readonly onFault: (detail: string) => void;
}

export class Directory {
  readonly #dependencies: DirectoryDependencies;
  #bucket: KV | undefined;
  #watch: { stop(): void } | undefined;
  #refusal: string | undefined;

  private constructor(dependencies: DirectoryDependencies) {
    this.#dependencies = dependencies;
  }

  /** Resolves when `onPlaced` was called for every claim. */
  static async open(dependencies: DirectoryDependencies): Promise<Directory> {
    const directory = new Directory(dependencies);
    await directory.reopen();
    return directory;
  }

  /** Reopens after a lost connection: the server may have lost the bucket, and the watch may have missed changes. */
  async reopen(): Promise<void> {
    this.#watch?.stop();
    const { link } = this.#dependencies;
    // In memory, because connections do not outlive their nodes.
    this.#bucket = await link.buckets.create(`${link.name}_presence`, {
      storage: "memory",
      history: 1,
      replicas: link.replicas,
    });
    const changes = await this.#bucket.watch();
    this.#watch = changes;
    let loaded = () => {};
    const all = new Promise<void>((resolve) => {
      loaded = resolve;
    });
    const status = await this.#bucket.status();
    if (status.values === 0) loaded();
    void this.#follow(changes, loaded);
    await all;
  }

  /** The newest claim wins. Resolves with the fencing number of this one. */
  async claim(device: string, claim: Claim): Promise<number> {
    try {
      const revision = await this.#kv().put(keyOf(device), JSON.stringify(claim));
      this.#refusal = undefined;
      return revision;
    } catch (error) {
      this.#refusal = messageOf(error);
      throw error;
    }
  }

  /** Why the bucket did not store the last claim, such as full memory; `undefined` if it did. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  async release(device: string, revision: number): Promise<void> {
    try {
      await this.#kv().delete(keyOf(device), { previousSeq: revision });
    } catch {
      // A newer claim has replaced it, or NATS is unavailable; then there is nothing to remove.
    }
  }

  async find(device: string): Promise<Placed | undefined> {
    const entry = await this.#kv().get(keyOf(device));
    if (entry === null || entry.operation !== "PUT") return undefined;
    return { claim: entry.json<Claim>(), revision: entry.revision };
  }

  stop(): void {
    this.#watch?.stop();
    this.#watch = undefined;
  }

  async #follow(changes: AsyncIterable<KvWatchEntry>, loaded: () => void): Promise<void> {
    try {
      for await (const entry of changes) {
        const device = deviceOf(entry.key);
        const placed =
          entry.operation === "PUT" ? { claim: entry.json<Claim>(), revision: entry.revision } : undefined;
        this.#dependencies.onPlaced(device, placed, entry.revision);
        if (entry.isUpdate || entry.delta === 0) loaded();
      }
    } catch (error) {
      this.#dependencies.onFault(messageOf(error));
    }
    loaded();
  }

  #kv(): KV {
    // Safe: `open` resolves after the bucket exists.
    return this.#bucket as KV;
  }
}

/** Encoded, because keys of a bucket allow few characters. */
function keyOf(device: string): string {
  return Buffer.from(device).toString("base64url");
}

function deviceOf(key: string): string {
  return Buffer.from(key, "base64url").toString();
}

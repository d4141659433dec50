/**
 * Which node holds which device: one key each in a JetStream bucket. The revision of a key is the fencing number: a
 * connection claimed later has a higher one and wins, and whoever cleans up after an old one names the revision it
 * means, so that it can never remove a newer one's entry.
 */
import type { KV, KvWatchEntry } from "@nats-io/kv";
import { messageOf } from "../errors.ts";
import type { NatsLink } from "./nats-link.ts";

export interface Claim {
  readonly instance: string;
  /** The machine's name. */
  readonly node: string;
  readonly transport: string;
  readonly kind: "esp32" | "process";
  readonly hasTools: boolean;
  readonly connectedAt: number;
  /** What a standard MCP server offers beside its tools. */
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

export interface DirectoryNeeds {
  readonly link: NatsLink;
  /** `undefined`: nobody holds the device any more. */
  readonly onPlaced: (device: string, placed: Placed | undefined, revision: number) => void;
  readonly onFault: (detail: string) => void;
}

export class Directory {
  readonly #needs: DirectoryNeeds;
  #bucket: KV | undefined;
  #watch: { stop(): void } | undefined;

  private constructor(needs: DirectoryNeeds) {
    this.#needs = needs;
  }

  /** Resolves when all that is known has been told. */
  static async open(needs: DirectoryNeeds): Promise<Directory> {
    const directory = new Directory(needs);
    await directory.reopen();
    return directory;
  }

  /** Again after a break: the server may have lost the bucket, and the watch may have missed what happened. */
  async reopen(): Promise<void> {
    this.#watch?.stop();
    const { link } = this.#needs;
    // In memory: it tells of connections, and none of them outlives what holds it.
    this.#bucket = await link.buckets.create(`${link.name}_presence`, {
      storage: "memory",
      history: 1,
      replicas: link.replicas,
    });
    const changes = await this.#bucket.watch();
    this.#watch = changes;
    let told = () => {};
    const all = new Promise<void>((resolve) => {
      told = resolve;
    });
    const status = await this.#bucket.status();
    if (status.values === 0) told();
    void this.#follow(changes, told);
    await all;
  }

  /** The newest wins: resolves with the fencing number of this claim. */
  async claim(device: string, claim: Claim): Promise<number> {
    return await this.#kv().put(keyOf(device), JSON.stringify(claim));
  }

  async release(device: string, revision: number): Promise<void> {
    try {
      await this.#kv().delete(keyOf(device), { previousSeq: revision });
    } catch {
      // Somebody newer has it, or NATS is away; either way it is no longer ours to remove.
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

  async #follow(changes: AsyncIterable<KvWatchEntry>, told: () => void): Promise<void> {
    try {
      for await (const entry of changes) {
        const device = deviceOf(entry.key);
        const placed =
          entry.operation === "PUT" ? { claim: entry.json<Claim>(), revision: entry.revision } : undefined;
        this.#needs.onPlaced(device, placed, entry.revision);
        if (entry.isUpdate || entry.delta === 0) told();
      }
    } catch (error) {
      this.#needs.onFault(messageOf(error));
    }
    told();
  }

  #kv(): KV {
    // Safe: `open` resolves only after the bucket is there.
    return this.#bucket as KV;
  }
}

/** Keys have a small alphabet. */
function keyOf(device: string): string {
  return Buffer.from(device).toString("base64url");
}

function deviceOf(key: string): string {
  return Buffer.from(key, "base64url").toString();
}

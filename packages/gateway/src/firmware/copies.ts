/**
 * The image files of all nodes. A file that was uploaded to another node is copied from there when a board needs it.
 * The copy's size and digest are checked before it is used.
 */
import { firmwareLimits, isObject } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { FirmwareFiles, FirmwareImage, Store } from "../store/store.ts";
import { withDeadline } from "../with-deadline.ts";

/** A request of one node to another about a file. */
type CopyRequest =
  | { readonly kind: "has"; readonly file: string; readonly size: number; readonly sha256: string }
  | { readonly kind: "piece"; readonly file: string; readonly at: number }
  | { readonly kind: "remove"; readonly file: string };

/** The other nodes of the cluster. */
export interface OtherNodes {
  nodes(): readonly string[];
  ask(node: string, question: CopyRequest): Promise<unknown>;
}

export interface CopiesDependencies {
  readonly store: Pick<Store, "firmware">;
  readonly files: FirmwareFiles;
  readonly clock: Clock;
  /** `undefined` without a cluster. */
  readonly others: OtherNodes | undefined;
}

type KnownFile = Pick<FirmwareImage, "id" | "file" | "size" | "sha256">;

/** As base64 it fits into one NATS message of the default size. */
const chunkBytes = 512 * 1024;
/** A board waits for the reply during its boot. */
const readyTimeoutMs = 5_000;
/** How long a missing file is not searched for again, because a whole fleet may request it. */
const missingMs = 10_000;

export class Copies {
  readonly #dependencies: CopiesDependencies;
  readonly #fetching = new Map<string, Promise<boolean>>();
  readonly #missingUntil = new Map<string, number>();

  constructor(dependencies: CopiesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Whether this node has the file. Copies it from another node if necessary. */
  async ready(image: KnownFile): Promise<boolean> {
    const { files, clock } = this.#dependencies;
    if (await files.intact(image)) return true;
    return (await withDeadline(clock, this.#fetch(image), { timeoutMs: readyTimeoutMs })) === true;
  }

  /** Whether any node has the file. */
  async existsOnAnyNode(image: KnownFile): Promise<boolean> {
    return (
      (await this.#dependencies.files.intact(image)) || (await this.#nodesWith(image).next()).done !== true
    );
  }

  async remove({ file }: KnownFile): Promise<void> {
    await this.#dependencies.files.remove(file);
    // An unreachable node keeps the file, which is never offered again.
    const { others } = this.#dependencies;
    await Promise.allSettled(
      (others?.nodes() ?? []).map((node) => others?.ask(node, { kind: "remove", file })),
    );
  }

  /** Answers a request of another node. */
  async answer(question: unknown): Promise<unknown> {
    const { files } = this.#dependencies;
    if (!isObject(question) || typeof question["file"] !== "string") return null;
    const { kind, file, size, sha256, at } = question;
    if (kind === "has") return await files.intact({ file, size: Number(size), sha256: String(sha256) });
    if (kind === "piece") return (await files.readChunk(file, Number(at), chunkBytes)).toString("base64");
    if (kind === "remove") await files.remove(file);
    return null;
  }

  /** Concurrent callers share one copy. */
  #fetch(image: KnownFile): Promise<boolean> {
    const { id } = image;
    const running = this.#fetching.get(id);
    if (running !== undefined) return running;
    const { clock } = this.#dependencies;
    if ((this.#missingUntil.get(id) ?? 0) > clock.monotonic()) return Promise.resolve(false);
    this.#missingUntil.delete(id);
    const fetching = this.#fetchFromAny(image).then(
      (copied) => copied,
      () => false,
    );
    this.#fetching.set(id, fetching);
    return fetching.finally(() => {
      this.#fetching.delete(id);
    });
  }

  async #fetchFromAny(image: KnownFile): Promise<boolean> {
    for await (const node of this.#nodesWith(image)) if (await this.#copy(node, image)) return true;
    this.#missingUntil.set(image.id, this.#dependencies.clock.monotonic() + missingMs);
    return false;
  }

  async *#nodesWith({ file, size, sha256 }: KnownFile): AsyncGenerator<string> {
    const { others } = this.#dependencies;
    for (const node of others?.nodes() ?? []) {
      const has = await others?.ask(node, { kind: "has", file, size, sha256 }).catch(() => false);
      if (has === true) yield node;
    }
  }

  async #copy(node: string, image: KnownFile): Promise<boolean> {
    const { files, store } = this.#dependencies;
    const received = await files
      .receive(image.id, this.#chunks(node, image), firmwareLimits.imageBytes.max)
      .catch(() => undefined);
    if (received === undefined) return false;
    if (received.size !== image.size || received.sha256 !== image.sha256) {
      await received.discard();
      return false;
    }
    await received.keep();
    // The image may have been removed meanwhile.
    if ((await store.firmware.get(image.id)) !== undefined) return true;
    await files.remove(image.file);
    return false;
  }

  async *#chunks(node: string, { file, size }: KnownFile): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < size; at += chunkBytes) {
      const chunk = await this.#dependencies.others?.ask(node, { kind: "piece", file, at });
      if (typeof chunk !== "string" || chunk === "") return;
      yield Buffer.from(chunk, "base64");
    }
  }
}

/**
 * The files of images, wherever they are: one that was handed in at another node is fetched from there when a board
 * needs it, and kept. What came over is compared with what is known of the image before anybody gets it.
 */
import { firmwareLimits, isObject } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { FirmwareFiles, FirmwareImage, Store } from "../store/store.ts";
import { withDeadline } from "../with-deadline.ts";

/** What one node asks another about a file. */
type CopyQuestion =
  | { readonly kind: "has"; readonly file: string; readonly size: number; readonly sha256: string }
  | { readonly kind: "piece"; readonly file: string; readonly at: number }
  | { readonly kind: "remove"; readonly file: string };

/** The other nodes there are. */
export interface OtherLibraries {
  nodes(): readonly string[];
  ask(node: string, question: CopyQuestion): Promise<unknown>;
}

export interface CopiesNeeds {
  readonly store: Pick<Store, "firmware">;
  readonly files: FirmwareFiles;
  readonly clock: Clock;
  /** `undefined` where this is the only node. */
  readonly others: OtherLibraries | undefined;
}

type KnownFile = Pick<FirmwareImage, "id" | "file" | "size" | "sha256">;

/** As base64 it fits into one message of NATS as it comes. */
const pieceBytes = 512 * 1024;
/** A board that asks at its boot waits for the answer. */
const patienceMs = 5_000;
/** A whole fleet may ask for a file that nobody has: the nodes are not asked for each board. */
const nowhereMs = 10_000;

export class Copies {
  readonly #needs: CopiesNeeds;
  readonly #fetching = new Map<string, Promise<boolean>>();
  readonly #nowhereUntil = new Map<string, number>();

  constructor(needs: CopiesNeeds) {
    this.#needs = needs;
  }

  /** Whether this node has the file now, from another one if need be. */
  async ready(image: KnownFile): Promise<boolean> {
    const { files, clock } = this.#needs;
    if (await files.intact(image)) return true;
    return (await withDeadline(clock, this.#fetch(image), { timeoutMs: patienceMs })) === true;
  }

  /** Whether any node has it. */
  async somewhere(image: KnownFile): Promise<boolean> {
    return (await this.#needs.files.intact(image)) || (await this.#holders(image).next()).done !== true;
  }

  async remove({ file }: KnownFile): Promise<void> {
    await this.#needs.files.remove(file);
    // A node that is away keeps a file that nobody is offered any more.
    const { others } = this.#needs;
    await Promise.allSettled(
      (others?.nodes() ?? []).map((node) => others?.ask(node, { kind: "remove", file })),
    );
  }

  /** What another node asks. */
  async answer(question: unknown): Promise<unknown> {
    const { files } = this.#needs;
    if (!isObject(question) || typeof question["file"] !== "string") return null;
    const { kind, file, size, sha256, at } = question;
    if (kind === "has") return await files.intact({ file, size: Number(size), sha256: String(sha256) });
    if (kind === "piece") return (await files.readChunk(file, Number(at), pieceBytes)).toString("base64");
    if (kind === "remove") await files.remove(file);
    return null;
  }

  /** Once for all who wait for it. */
  #fetch(image: KnownFile): Promise<boolean> {
    const { id } = image;
    const running = this.#fetching.get(id);
    if (running !== undefined) return running;
    const { clock } = this.#needs;
    if ((this.#nowhereUntil.get(id) ?? 0) > clock.monotonic()) return Promise.resolve(false);
    this.#nowhereUntil.delete(id);
    const fetching = this.#fetchFromAny(image).then(
      (came) => came,
      () => false,
    );
    this.#fetching.set(id, fetching);
    return fetching.finally(() => {
      this.#fetching.delete(id);
    });
  }

  async #fetchFromAny(image: KnownFile): Promise<boolean> {
    for await (const node of this.#holders(image)) if (await this.#copy(node, image)) return true;
    this.#nowhereUntil.set(image.id, this.#needs.clock.monotonic() + nowhereMs);
    return false;
  }

  async *#holders({ file, size, sha256 }: KnownFile): AsyncGenerator<string> {
    const { others } = this.#needs;
    for (const node of others?.nodes() ?? []) {
      const has = await others?.ask(node, { kind: "has", file, size, sha256 }).catch(() => false);
      if (has === true) yield node;
    }
  }

  async #copy(node: string, image: KnownFile): Promise<boolean> {
    const { files, store } = this.#needs;
    const received = await files
      .receive(image.id, this.#pieces(node, image), firmwareLimits.imageBytes.max)
      .catch(() => undefined);
    if (received === undefined) return false;
    if (received.size !== image.size || received.sha256 !== image.sha256) {
      await received.discard();
      return false;
    }
    await received.keep();
    // It may have been removed meanwhile, on all nodes that had it then.
    if ((await store.firmware.get(image.id)) !== undefined) return true;
    await files.remove(image.file);
    return false;
  }

  async *#pieces(node: string, { file, size }: KnownFile): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < size; at += pieceBytes) {
      const piece = await this.#needs.others?.ask(node, { kind: "piece", file, at });
      if (typeof piece !== "string" || piece === "") return;
      yield Buffer.from(piece, "base64");
    }
  }
}

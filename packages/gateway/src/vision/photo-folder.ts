/**
 * The folder of pictures: each lives for a while, and all of them together take no more than their share. Names are
 * made here and looked up in memory, so no text from outside ever becomes part of a path.
 */
import { randomBytes } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import type { Clock, Timer } from "../clock.ts";
import { messageOf, StartError } from "../errors.ts";
import type { PictureType } from "./picture-format.ts";

export interface PhotoFolderSettings {
  readonly folder: string;
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly maxBytes: number;
  readonly maxCount: number;
  /** A file that could not be written or removed; nothing waits for it. */
  readonly onFault: (what: string) => void;
}

interface Entry {
  readonly file: string;
  readonly mimeType: PictureType;
  readonly size: number;
  readonly at: number;
}

const endings = { "image/jpeg": "jpg", "image/png": "png" } as const satisfies Record<PictureType, string>;
const ours = /^([0-9a-f]{32})\.(jpg|png)$/;
const unfinished = /^[0-9a-f]{32}\.part$/;
const cleanEveryMs = 1_000;
/** A step this small is not felt by calls that run meanwhile; what is left is for the next second. */
const removedPerStep = 64;

export class PhotoFolder {
  readonly #settings: PhotoFolderSettings;
  /** Oldest first. */
  readonly #entries: Map<string, Entry>;
  readonly #timer: Timer;
  #bytes: number;
  #cleaning: Promise<void> | undefined;

  private constructor(settings: PhotoFolderSettings, found: readonly (readonly [string, Entry])[]) {
    this.#settings = settings;
    this.#entries = new Map(found);
    this.#bytes = found.reduce((sum, [, { size }]) => sum + size, 0);
    this.#timer = settings.clock.every(cleanEveryMs, () => this.#clean());
    this.#clean();
  }

  static async open(settings: PhotoFolderSettings): Promise<PhotoFolder> {
    try {
      await fs.mkdir(settings.folder, { recursive: true, mode: 0o700 });
      return new PhotoFolder(settings, await find(settings.folder, settings.clock.now()));
    } catch (error) {
      throw new StartError(
        `The folder ${settings.folder} cannot be used for pictures (${messageOf(error)}).`,
      );
    }
  }

  /** The id is there at once; the file is written when the promise is done. It never fails: a full disk costs the copy, not the call. */
  add(
    bytes: Buffer,
    mimeType: PictureType,
    at: number,
  ): { readonly id: string; readonly written: Promise<void> } {
    const id = randomBytes(16).toString("hex");
    const { folder } = this.#settings;
    const entry = { file: path.join(folder, `${id}.${endings[mimeType]}`), mimeType, size: bytes.length, at };
    this.#entries.set(id, entry);
    this.#bytes += entry.size;
    return { id, written: this.#write(id, entry, bytes) };
  }

  has(id: string): boolean {
    const entry = this.#entries.get(id);
    return entry !== undefined && !this.#isOver(entry);
  }

  /** Nothing once its time is over, whether or not the file has been removed yet. */
  async read(id: string): Promise<{ readonly mimeType: PictureType; readonly bytes: Buffer } | undefined> {
    const entry = this.#entries.get(id);
    if (entry === undefined || this.#isOver(entry)) return undefined;
    try {
      return { mimeType: entry.mimeType, bytes: await fs.readFile(entry.file) };
    } catch {
      return undefined;
    }
  }

  /** Resolves when the cleaning under way is done. */
  async settled(): Promise<void> {
    await this.#cleaning;
  }

  async stop(): Promise<void> {
    this.#timer.cancel();
    await this.settled();
  }

  async #write(id: string, entry: Entry, bytes: Buffer): Promise<void> {
    const part = path.join(this.#settings.folder, `${id}.part`);
    try {
      await this.#remove(this.#surplus(Number.POSITIVE_INFINITY));
      await fs.writeFile(part, bytes, { mode: 0o600, flag: "wx" });
      // The time of the file is the time of the picture, so that a restart knows its age.
      await fs.utimes(part, entry.at / 1000, entry.at / 1000);
      await fs.rename(part, entry.file);
      // Newer ones may have taken its place meanwhile; then nobody else would ever remove it.
      if (!this.#entries.has(id)) await fs.rm(entry.file, { force: true });
    } catch (error) {
      this.#forget(id);
      await fs.rm(part, { force: true }).catch(() => undefined);
      this.#settings.onFault(`a picture was not stored (${messageOf(error)})`);
    }
  }

  #clean(): void {
    if (this.#cleaning !== undefined) return;
    const files = this.#surplus(removedPerStep);
    if (files.length === 0) return;
    this.#cleaning = this.#remove(files).finally(() => {
      this.#cleaning = undefined;
    });
  }

  /** Takes what is too old or too much out of the list, oldest first, and says which files that leaves to remove. */
  #surplus(most: number): string[] {
    const { maxBytes, maxCount } = this.#settings;
    const files: string[] = [];
    for (const [id, entry] of this.#entries) {
      const fits = this.#bytes <= maxBytes && this.#entries.size <= maxCount;
      if (files.length >= most || (fits && !this.#isOver(entry))) break;
      this.#forget(id);
      files.push(entry.file);
    }
    return files;
  }

  async #remove(files: readonly string[]): Promise<void> {
    for (const file of files) {
      await fs.rm(file, { force: true }).catch((error: unknown) => {
        this.#settings.onFault(`an old picture was not removed (${messageOf(error)})`);
      });
    }
  }

  #forget(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#bytes -= entry.size;
  }

  #isOver({ at }: Entry): boolean {
    return this.#settings.clock.now() - at >= this.#settings.ttlMs;
  }
}

/** What an earlier run left behind: pictures by age; files it did not finish are removed; other files are not ours. */
async function find(folder: string, now: number): Promise<[string, Entry][]> {
  const found: [string, Entry][] = [];
  for await (const item of await fs.opendir(folder)) {
    const file = path.join(folder, item.name);
    const [, id, ending] = ours.exec(item.name) ?? [];
    if (item.isFile() && unfinished.test(item.name)) await fs.rm(file, { force: true });
    if (!item.isFile() || id === undefined) continue;
    const { size, mtimeMs } = await fs.stat(file);
    found.push([
      id,
      { file, mimeType: ending === "png" ? "image/png" : "image/jpeg", size, at: Math.min(mtimeMs, now) },
    ]);
  }
  return found.sort(([, a], [, b]) => a.at - b.at);
}

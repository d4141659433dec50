/**
 * The folder of pictures, with a maximum age and a maximum total size. File names are generated and looked up in
 * memory, so no outside text becomes part of a path.
 */
import { randomBytes } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import type { Clock, Timer } from "../clock.ts";
import { messageOf, StartError, storageRemedy } from "../errors.ts";
import type { PictureType } from "./picture-format.ts";

export interface PhotoFolderSettings {
  readonly folder: string;
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly maxBytes: number;
  readonly maxCount: number;
  /** Called if a file cannot be written or removed. */
  readonly onFault: (what: string) => void;
}

interface Entry {
  readonly file: string;
  readonly mimeType: PictureType;
  readonly size: number;
  readonly at: number;
}

const extensions = { "image/jpeg": "jpg", "image/png": "png" } as const satisfies Record<PictureType, string>;
const photoName = /^([0-9a-f]{32})\.(jpg|png)$/;
const unfinished = /^[0-9a-f]{32}\.part$/;
const cleanEveryMs = 1_000;
/** Small, so that running calls are not delayed. The rest follows in the next second. */
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
      return new PhotoFolder(settings, await findPhotos(settings.folder, settings.clock.now()));
    } catch (error) {
      throw new StartError(
        `The folder ${settings.folder} cannot be used for photos (${messageOf(error)}). ${storageRemedy(error)}.`,
      );
    }
  }

  /** Returns the id at once; `written` resolves after the write and never rejects: a full disk loses only the copy. */
  add(
    bytes: Buffer,
    mimeType: PictureType,
    at: number,
  ): { readonly id: string; readonly written: Promise<void> } {
    const id = randomBytes(16).toString("hex");
    const { folder } = this.#settings;
    const entry = {
      file: path.join(folder, `${id}.${extensions[mimeType]}`),
      mimeType,
      size: bytes.length,
      at,
    };
    this.#entries.set(id, entry);
    this.#bytes += entry.size;
    return { id, written: this.#write(id, entry, bytes) };
  }

  has(id: string): boolean {
    const entry = this.#entries.get(id);
    return entry !== undefined && !this.#isExpired(entry);
  }

  async remove(ids: readonly string[]): Promise<void> {
    const files = ids.flatMap((id) => this.#entries.get(id)?.file ?? []);
    for (const id of ids) this.#removeEntry(id);
    await this.#remove(files);
  }

  /** `undefined` for an expired picture, also before its file is removed. */
  async read(id: string): Promise<{ readonly mimeType: PictureType; readonly bytes: Buffer } | undefined> {
    const entry = this.#entries.get(id);
    if (entry === undefined || this.#isExpired(entry)) return undefined;
    try {
      return { mimeType: entry.mimeType, bytes: await fs.readFile(entry.file) };
    } catch {
      return undefined;
    }
  }

  /** Resolves when the running cleanup has finished. */
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
      await this.#remove(this.#takeSurplus(Number.POSITIVE_INFINITY));
      await fs.writeFile(part, bytes, { mode: 0o600, flag: "wx" });
      // The file's time is the picture's time, so that its age is known after a restart.
      await fs.utimes(part, entry.at / 1000, entry.at / 1000);
      await fs.rename(part, entry.file);
      // The entry may have been removed meanwhile, and nothing else would remove the file.
      if (!this.#entries.has(id)) await fs.rm(entry.file, { force: true });
    } catch (error) {
      this.#removeEntry(id);
      await fs.rm(part, { force: true }).catch(() => undefined);
      this.#settings.onFault(`a photo could not be stored (${messageOf(error)})`);
    }
  }

  #clean(): void {
    if (this.#cleaning !== undefined) return;
    const files = this.#takeSurplus(removedPerStep);
    if (files.length === 0) return;
    this.#cleaning = this.#remove(files).finally(() => {
      this.#cleaning = undefined;
    });
  }

  /** Removes expired and surplus entries, oldest first, and returns their files for deletion. */
  #takeSurplus(max: number): string[] {
    const { maxBytes, maxCount } = this.#settings;
    const files: string[] = [];
    for (const [id, entry] of this.#entries) {
      const fits = this.#bytes <= maxBytes && this.#entries.size <= maxCount;
      if (files.length >= max || (fits && !this.#isExpired(entry))) break;
      this.#removeEntry(id);
      files.push(entry.file);
    }
    return files;
  }

  async #remove(files: readonly string[]): Promise<void> {
    for (const file of files) {
      await fs.rm(file, { force: true }).catch((error: unknown) => {
        this.#settings.onFault(`an old photo could not be removed (${messageOf(error)})`);
      });
    }
  }

  #removeEntry(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#bytes -= entry.size;
  }

  #isExpired({ at }: Entry): boolean {
    return this.#settings.clock.now() - at >= this.#settings.ttlMs;
  }
}

/** The pictures of earlier runs, oldest first. Removes unfinished files and ignores files with other names. */
async function findPhotos(folder: string, now: number): Promise<[string, Entry][]> {
  const found: [string, Entry][] = [];
  for await (const item of await fs.opendir(folder)) {
    const file = path.join(folder, item.name);
    const [, id, extension] = photoName.exec(item.name) ?? [];
    if (item.isFile() && unfinished.test(item.name)) await fs.rm(file, { force: true });
    if (!item.isFile() || id === undefined) continue;
    const { size, mtimeMs } = await fs.stat(file);
    found.push([
      id,
      { file, mimeType: extension === "png" ? "image/png" : "image/jpeg", size, at: Math.min(mtimeMs, now) },
    ]);
  }
  return found.sort(([, a], [, b]) => a.at - b.at);
}

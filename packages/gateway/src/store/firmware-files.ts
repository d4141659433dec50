/**
 * The image files, in the data folder. Each is written under a temporary name and then renamed. File names come
 * from generated ids, so no outside text becomes part of a path.
 */
import { createHash } from "node:crypto";
import fs from "node:fs";
import fsp from "node:fs/promises";
import path from "node:path";
import { finished, pipeline } from "node:stream/promises";
import { messageOf, StartError, storageRemedy } from "../errors.ts";

export interface ReceivedFile {
  readonly size: number;
  readonly sha256: string;
  /** The whole content, for checks. */
  readonly bytes: Buffer;
  /** Renames it to its final name. It is durable when the promise resolves. */
  keep(): Promise<string>;
  discard(): Promise<void>;
}

const ending = ".bin";
const unfinished = ".part";

export class FirmwareFiles {
  readonly #folder: string;
  /** Files whose digest was compared since the start, or is being compared. */
  readonly #compared = new Map<string, { readonly stamp: string; readonly same: Promise<boolean> }>();

  constructor(dataFolder: string) {
    this.#folder = path.join(dataFolder, "firmware");
    try {
      fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      for (const name of fs.readdirSync(this.#folder)) {
        if (name.endsWith(unfinished)) fs.rmSync(path.join(this.#folder, name), { force: true });
      }
    } catch (error) {
      throw new StartError(
        `The folder ${this.#folder} cannot be used (${messageOf(error)}). ${storageRemedy(error)}.`,
      );
    }
  }

  /** Receives a stream of at most `maxBytes`; `undefined` if it is longer. A failed upload leaves no file. */
  async receive(
    id: string,
    from: AsyncIterable<Uint8Array>,
    maxBytes: number,
  ): Promise<ReceivedFile | undefined> {
    const file = path.join(this.#folder, `${id}${ending}`);
    const part = `${file}${unfinished}`;
    const discard = async () => await fsp.rm(part, { force: true });
    const hash = createHash("sha256");
    const chunks: Uint8Array[] = [];
    let size = 0;
    const bounded = async function* () {
      for await (const chunk of from) {
        size += chunk.length;
        if (size > maxBytes) return;
        hash.update(chunk);
        chunks.push(chunk);
        yield chunk;
      }
    };
    try {
      // `flush`: the content is on the disk before the rename.
      await pipeline(bounded, fs.createWriteStream(part, { flags: "wx", mode: 0o600, flush: true }));
    } catch (error) {
      await discard();
      throw error;
    }
    if (size > maxBytes) {
      await discard();
      return undefined;
    }
    return {
      size,
      sha256: hash.digest("hex"),
      bytes: Buffer.concat(chunks),
      keep: async () => {
        await fsp.rename(part, file);
        return path.basename(file);
      },
      discard,
    };
  }

  /** Whether the file exists with its original content. The digest is computed again only if the file changes. */
  async intact({ file, size, sha256 }: { file: string; size: number; sha256: string }): Promise<boolean> {
    const full = path.join(this.#folder, path.basename(file));
    try {
      const stat = await fsp.stat(full);
      if (stat.size !== size) return false;
      const stamp = `${stat.mtimeMs}-${stat.ino}`;
      const known = this.#compared.get(file);
      if (known?.stamp === stamp) return await known.same;
      const same = hasDigest(full, sha256);
      this.#compared.set(file, { stamp, same });
      return await same;
    } catch {
      this.#compared.delete(file);
      return false;
    }
  }

  /** A part of the file: shorter at its end, empty beyond it. */
  async readChunk(file: string, at: number, length: number): Promise<Buffer> {
    const opened = await fsp.open(path.join(this.#folder, path.basename(file)));
    try {
      const { buffer, bytesRead } = await opened.read(Buffer.alloc(length), 0, length, at);
      return buffer.subarray(0, bytesRead);
    } finally {
      await opened.close();
    }
  }

  read(file: string): fs.ReadStream {
    return fs.createReadStream(path.join(this.#folder, path.basename(file)));
  }

  async remove(file: string): Promise<void> {
    this.#compared.delete(file);
    await fsp.rm(path.join(this.#folder, path.basename(file)), { force: true });
  }
}

async function hasDigest(file: string, sha256: string): Promise<boolean> {
  const hash = createHash("sha256");
  await finished(fs.createReadStream(file).on("data", (chunk) => hash.update(chunk)));
  return hash.digest("hex") === sha256;
}

/**
 * The file format of backups: a gzip-compressed tar archive (POSIX ustar) of regular files with short names, so that it
 * can be inspected with `tar`. The first entry is the manifest. Reading is strict: any other content is an error.
 */
import fs from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";

const blockBytes = 512;
/** The size has eleven octal digits. */
const maxEntryBytes = 8 ** 11 - 1;
const maxNameBytes = 100;
const regularFile = "0".charCodeAt(0);

export interface ArchiveEntry {
  readonly name: string;
  readonly size: number;
  /** Exactly `size` bytes. */
  readonly content: AsyncIterable<Uint8Array>;
}

export class ArchiveError extends Error {}

/** Writes a new file that only its owner can read. It is on the disk when the promise resolves. */
export async function writeArchive(file: string, entries: AsyncIterable<ArchiveEntry>): Promise<void> {
  const target = fs.createWriteStream(file, { flags: "wx", mode: 0o600, flush: true });
  await pipeline(Readable.from(blocksOf(entries)), createGzip({ level: 6 }), target);
}

async function* blocksOf(entries: AsyncIterable<ArchiveEntry>): AsyncGenerator<Uint8Array> {
  for await (const { name, size, content } of entries) {
    yield headerOf(name, size);
    let written = 0;
    for await (const chunk of content) {
      written += chunk.length;
      yield chunk;
    }
    if (written !== size) throw new ArchiveError(`${name} changed while it was read`);
    yield Buffer.alloc(paddingOf(size));
  }
  yield Buffer.alloc(2 * blockBytes);
}

function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

function headerOf(name: string, size: number): Buffer {
  if (Buffer.byteLength(name) > maxNameBytes) throw new ArchiveError(`the name ${name} is too long`);
  if (size > maxEntryBytes) throw new ArchiveError(`${name} is larger than 8 GiB`);
  const header = Buffer.alloc(blockBytes);
  header.write(name, 0);
  header.write("0000600\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header[156] = regularFile;
  header.write("ustar\x0000", 257, "latin1");
  header.write(`${checksumOf(header).toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

/** The sum of all bytes, with those of the checksum counted as spaces. */
function checksumOf(header: Buffer): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0);
}

/** Calls `onEntry` for each entry in order; it must read the content to its end. */
export async function readArchive(
  file: string,
  onEntry: (entry: ArchiveEntry) => Promise<void>,
): Promise<void> {
  const source = fs.createReadStream(file);
  const unpacked = createGunzip();
  source.on("error", (error) => unpacked.destroy(error));
  const bytes = new ByteReader(source.pipe(unpacked));
  try {
    for (;;) {
      const header = await bytes.take(blockBytes);
      if (header.every((byte) => byte === 0)) {
        await bytes.take(blockBytes);
        // To the very end, where gzip compares its checksum.
        await bytes.end();
        return;
      }
      const { name, size } = parseHeader(header);
      await onEntry({ name, size, content: bytes.read(size) });
      await bytes.take(paddingOf(size));
    }
  } finally {
    source.destroy();
    unpacked.destroy();
  }
}

function parseHeader(header: Buffer): { readonly name: string; readonly size: number } {
  const text = (from: number, length: number) =>
    header
      .subarray(from, from + length)
      .toString()
      .replace(/\0.*$/s, "");
  const size = Number.parseInt(text(124, 12), 8);
  const isOurs =
    text(257, 5) === "ustar" &&
    header[156] === regularFile &&
    Number.parseInt(text(148, 8), 8) === checksumOf(header) &&
    Number.isSafeInteger(size);
  if (!isOurs) throw new ArchiveError("it is not an archive of a backup");
  return { name: text(0, maxNameBytes), size };
}

/** Reads a stream by counts of bytes. */
class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(stream: AsyncIterable<Uint8Array>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  async take(count: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const part of this.read(count)) parts.push(part);
    return Buffer.concat(parts);
  }

  async end(): Promise<void> {
    const next = this.#rest.length > 0 ? undefined : await this.#chunks.next();
    if (next?.done !== true) throw new ArchiveError("it does not end where it should");
  }

  async *read(count: number): AsyncGenerator<Uint8Array> {
    for (let missing = count; missing > 0; ) {
      if (this.#rest.length === 0) {
        const next = await this.#chunks.next();
        if (next.done === true) throw new ArchiveError("it ends too early");
        this.#rest = next.value;
      }
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      missing -= part.length;
      yield part;
    }
  }
}

/**
 * Files served from memory, one shared buffer each. A client that does not read costs only its socket, and no file stays
 * open during a reply.
 */
import { hash } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { gzip as gzipWithCallback } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";

export interface MemoryFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly br: Buffer | undefined;
  readonly gzip: Buffer | undefined;
}

const gzip = promisify(gzipWithCallback);

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".webmanifest": "application/manifest+json",
  ".json": "application/json; charset=utf-8",
  ".yaml": "application/yaml; charset=utf-8",
  // Guides: browsers show plain text, and download text/markdown.
  ".md": "text/plain; charset=utf-8",
};

/** Every file below the folder by its path, with its compressed versions from the build. */
export async function readFolder(folder: string): Promise<ReadonlyMap<string, MemoryFile>> {
  const names = await fs.readdir(folder, { recursive: true }).catch(() => []);
  const files = new Map<string, MemoryFile>();
  for (const name of names) {
    const type = types[path.extname(name)];
    if (type === undefined) continue;
    const read = (suffix: string) => fs.readFile(path.join(folder, name + suffix)).catch(() => undefined);
    const [plain, br, gzip] = await Promise.all([read(""), read(".br"), read(".gz")]);
    if (plain === undefined) continue;
    files.set(name.split(path.sep).join("/"), { type, etag: etagOf(plain), plain, br, gzip });
  }
  return files;
}

/** A file made at runtime; the extension of `name` gives its type. */
export async function memoryFile(name: string, content: string | Buffer): Promise<MemoryFile> {
  const plain = Buffer.from(content);
  const type = types[path.extname(name)] ?? "application/octet-stream";
  return { type, etag: etagOf(plain), plain, br: undefined, gzip: await gzip(plain) };
}

export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: MemoryFile,
  caching: string,
): Promise<FastifyReply> {
  const accepted = request.headers["accept-encoding"] ?? "";
  const encoding = (["br", "gzip"] as const).find(
    (name) =>
      file[name] !== undefined && new RegExp(`\\b${name}\\b(?!\\s*;\\s*q=0(?:\\.0*)?\\b)`).test(accepted),
  );
  reply.headers({
    "content-type": file.type,
    "cache-control": caching,
    "x-content-type-options": "nosniff",
    vary: "accept-encoding",
    etag: file.etag,
  });
  if (request.headers["if-none-match"] === file.etag) return await reply.code(304).send();
  if (encoding !== undefined) reply.header("content-encoding", encoding);
  return await reply.send(encoding === undefined ? file.plain : file[encoding]);
}

function etagOf(content: Buffer): string {
  return `"${hash("sha256", content, "base64url").slice(0, 22)}"`;
}

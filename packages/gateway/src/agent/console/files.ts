/** The built page: read once, when somebody first opens it, and served from memory with what was compressed at build time. */
import { hash } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { consolePaths } from "@tendon/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import { TendonError } from "../../errors.ts";
import type { Http } from "../http.ts";

interface BuiltFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly br: Buffer | undefined;
  readonly gzip: Buffer | undefined;
}

/** Beside the compiled gateway, and the same place seen from its sources. */
const builtConsole = fileURLToPath(new URL("../../../dist/console/", import.meta.url));

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".webmanifest": "application/manifest+json",
  ".json": "application/json",
  // Guides, to be read and not to be saved.
  ".md": "text/plain; charset=utf-8",
};

/** Nothing from elsewhere, no script but our own files, no frame around us. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join("; ");

const pageHeaders = {
  "content-security-policy": contentPolicy,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};

export function fileRoutes(http: Http, folder = builtConsole): void {
  let reading: Promise<ReadonlyMap<string, BuiltFile>> | undefined;
  const files = () => {
    reading ??= readBuild(folder);
    return reading;
  };
  const hidden = { schema: { hide: true }, config: { guarded: true } };
  for (const at of Object.values(consolePaths)) {
    http.get(at, hidden, async (request, reply) => {
      const page = (await files()).get("index.html");
      // Without a built page there is still something to read.
      if (page === undefined) return await reply.redirect("/docs");
      return await send(request, reply.headers(pageHeaders), page, "no-cache");
    });
  }
  http.get("/assets/:file", hidden, async (request, reply) => {
    const { file } = request.params as { file: string };
    const found = (await files()).get(`assets/${file}`);
    if (found === undefined) throw new TendonError("not_found", "no such file");
    // Its name changes with its content.
    return await send(request, reply, found, "public, max-age=31536000, immutable");
  });
  for (const name of ["icon.svg", "manifest.webmanifest"]) {
    http.get(`/${name}`, hidden, async (request, reply) => {
      const found = (await files()).get(name);
      if (found === undefined) throw new TendonError("not_found", "no such file");
      return await send(request, reply, found, "public, max-age=86400");
    });
  }
}

async function send(request: FastifyRequest, reply: FastifyReply, file: BuiltFile, caching: string) {
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

async function readBuild(folder: string): Promise<ReadonlyMap<string, BuiltFile>> {
  const names = await fs.readdir(folder, { recursive: true }).catch(() => []);
  const files = new Map<string, BuiltFile>();
  for (const name of names) {
    const type = types[path.extname(name)];
    if (type === undefined) continue;
    const read = (suffix: string) => fs.readFile(path.join(folder, name + suffix)).catch(() => undefined);
    const [plain, br, gzip] = await Promise.all([read(""), read(".br"), read(".gz")]);
    if (plain === undefined) continue;
    const etag = `"${hash("sha256", plain, "base64url").slice(0, 22)}"`;
    files.set(name.split(path.sep).join("/"), { type, etag, plain, br, gzip });
  }
  return files;
}

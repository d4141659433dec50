/** The console's built page, read at the first request. */
import { consolePaths } from "@tendon/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import { TendonError } from "../../errors.ts";
import { consoleFolder } from "../../package-files.ts";
import type { Http } from "../http/http.ts";
import { type MemoryFile, readFolder, sendFile } from "../http/http.ts";

/** No content of other hosts, no inline scripts, no framing. */
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

export function fileRoutes(http: Http, folder = consoleFolder): void {
  let reading: Promise<ReadonlyMap<string, MemoryFile>> | undefined;
  const files = () => {
    reading ??= readFolder(folder);
    return reading;
  };
  const hidden = { schema: { hide: true } };
  const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
    const page = (await files()).get("index.html");
    // The page is not built.
    if (page === undefined) return await reply.redirect("/docs");
    return await sendFile(request, reply.headers(pageHeaders), page, "no-cache");
  };
  for (const at of Object.values(consolePaths)) http.get(at, hidden, sendPage);
  // The same page, which then shows that the address is unknown, and similar ones.
  http.sendUnknownPage = (request, reply) => sendPage(request, reply.code(404));
  http.get("/assets/:file", hidden, async (request, reply) => {
    const { file } = request.params as { file: string };
    const found = (await files()).get(`assets/${file}`);
    if (found === undefined) throw new TendonError("not_found", "the console has no such file");
    // The name contains a hash of the content.
    return await sendFile(request, reply, found, "public, max-age=31536000, immutable");
  });
  for (const name of ["icon.svg", "manifest.webmanifest"]) {
    http.get(`/${name}`, hidden, async (request, reply) => {
      const found = (await files()).get(name);
      if (found === undefined) throw new TendonError("not_found", "the console has no such file");
      return await sendFile(request, reply, found, "public, max-age=86400");
    });
  }
}

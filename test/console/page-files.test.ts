/** The built console as the gateway serves it: headers, compression, caching and addresses. */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ask, askAll } from "../http-client.ts";
import { openSite } from "../site.ts";

const built = fileURLToPath(new URL("../../packages/gateway/dist/console/", import.meta.url));
const maxScriptBytes = 250 * 1024;

function assets(): string[] {
  return fs.readdirSync(path.join(built, "assets")).filter((name) => /\.(js|css)$/.test(name));
}

/** The files that a browser loads at first: the page's scripts and their static imports. */
function firstLoad(): Set<string> {
  const found = new Set<string>();
  const follow = (name: string) => {
    if (found.has(name)) return;
    found.add(name);
    const text = fs.readFileSync(path.join(built, "assets", name), "utf8");
    for (const [, next = ""] of text.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)) follow(next);
  };
  const html = fs.readFileSync(path.join(built, "index.html"), "utf8");
  for (const [, name = ""] of html.matchAll(/\/assets\/([\w.-]+\.js)"/g)) follow(name);
  for (const name of assets()) if (/^en-.*\.js$/.test(name)) follow(name);
  return found;
}

describe("the console's page", () => {
  it("[CON-5] has a CSP that allows only its own files", async () => {
    const site = await openSite();
    const { status, headers, text } = await askAll(site.url, { path: "/" });
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(headers["cache-control"]).toBe("no-cache");
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|style=/);
    for (const [, address = ""] of text.matchAll(/(?:src|href)="([^"]+)"/g)) expect(address).toMatch(/^\//);
  });

  it("is served at its own addresses only", async () => {
    const site = await openSite();
    const status = async (at: string) => (await askAll(site.url, { path: at })).status;
    for (const at of [
      "/devices/02:00:00:00:00:01",
      "/calls",
      "/calls/x",
      "/approvals",
      "/home",
      "/voice",
      "/firmware",
      "/overview",
      "/connect",
      "/tokens",
      "/webhooks",
      "/audit",
      "/settings",
      "/guides",
      "/guides/voice",
      "/sign-in",
    ]) {
      expect(await status(at), at).toBe(200);
    }
    for (const at of [
      "/nowhere",
      "/devices",
      "/calls/x/y",
      "/assets/none.js",
      "/assets/..%2findex.html",
      "/index.html",
      "/api/v1/nothing",
    ]) {
      expect([401, 404], at).toContain(await status(at));
    }
    expect(await status("/docs")).toBe(200);
  });

  it("[CON-5] answers a browser at an unknown address, but not programs and not below their paths", async () => {
    const site = await openSite();
    const open = async (at: string, headers: Record<string, string> = {}, method = "GET") => {
      const answer = await askAll(site.url, {
        method,
        path: at,
        headers: { accept: "text/html", ...headers },
      });
      return [answer.status, String(answer.headers["content-type"]).split(";")[0]];
    };
    expect(await open("/tokenz")).toEqual([404, "text/html"]);
    expect(await open("/devices/a/b?c=d")).toEqual([404, "text/html"]);
    expect(await open("/tokenz", { accept: "*/*" })).toEqual([404, "application/problem+json"]);
    expect(await open("/tokenz", {}, "POST")).toEqual([404, "application/problem+json"]);
    expect(await open("/tokenz", { host: "evil.example" })).toEqual([403, "application/problem+json"]);
    for (const at of ["/api", "/api/v2/devices", "/mcp/a/b", "/assets/none.js", "/xiaozhi/none"])
      expect(await open(at), at).toEqual([404, "application/problem+json"]);
    const { headers } = await askAll(site.url, { path: "/tokenz", headers: { accept: "text/html" } });
    expect(String(headers["content-security-policy"])).toContain("script-src 'self';");
  });

  it.each(["/calls", "/metrics", "/docs", "/api/v1/devices", "/icon.svg", "/nothing", "/assets/x.js"])(
    "does not answer for a foreign Host at %s",
    async (at) => {
      const site = await openSite();
      const { status } = await askAll(site.url, { path: at, headers: { host: "evil.example" } });
      expect(status).toBe(403);
    },
  );

  it("answers boards and probes under any name", async () => {
    const site = await openSite();
    const headers = { host: "tendon" };
    for (const [at, expected] of [
      ["/healthz", 200],
      ["/readyz", 200],
      ["/xiaozhi/ota/", 400],
    ] as const)
      expect((await askAll(site.url, { path: at, headers })).status).toBe(expected);
  });

  it("serves immutable files in the best encoding that the browser accepts", async () => {
    const site = await openSite();
    const script = assets().find((name) => name.endsWith(".js")) ?? "";
    const at = `/assets/${script}`;
    const encoded = async (accept: string | undefined) => {
      const headers = accept === undefined ? {} : { "accept-encoding": accept };
      const response = await ask(site.url, { path: at, headers });
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      return { headers: response.headers, bytes: Buffer.concat(chunks) };
    };
    const plain = await encoded(undefined);
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect(plain.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect(plain.headers["x-content-type-options"]).toBe("nosniff");
    const brotli = await encoded("gzip, deflate, br");
    expect(brotli.headers["content-encoding"]).toBe("br");
    expect(brotli.headers["vary"]).toBe("accept-encoding");
    expect(brotli.bytes.length).toBeLessThan(plain.bytes.length);
    const gzip = await encoded("br;q=0, gzip");
    expect(gzip.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
    const etag = String(plain.headers["etag"]);
    const again = await askAll(site.url, { path: at, headers: { "if-none-match": etag } });
    expect(again.status).toBe(304);
  });

  it(`loads less than ${maxScriptBytes / 1024} KB of compressed script at first`, () => {
    const names = [...firstLoad()];
    expect(names.length).toBeGreaterThan(1);
    const bytes = names.map((name) => fs.statSync(path.join(built, "assets", `${name}.gz`)).size);
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(maxScriptBytes);
  });
});

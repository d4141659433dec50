/** Pages of other origins: those in `http.allowedOrigins` may use /mcp and the REST API with a token. */
import type { IncomingHttpHeaders } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askAll } from "../http-client.ts";
import { adminToken, type Site, startSite } from "../site.ts";
import { initialize, listen, openSession, say } from "./rpc.ts";

const page = "https://agent.example";
const extension = "chrome-extension://abcdefghijklmnop";
const ofConsole = { "x-tendon-console": "1" };
const foreign = "https://evil.example";

let site: Site;
beforeAll(async () => {
  site = await startSite({ config: { http: { allowedOrigins: [page, extension] } } });
});
afterAll(() => site.stop());

function listed(value: string | string[] | undefined): string[] {
  return String(value ?? "")
    .toLowerCase()
    .split(/,\s*/);
}

async function preflight(path: string, origin: string, method = "POST") {
  const headers = {
    origin,
    "access-control-request-method": method,
    "access-control-request-headers": "authorization,content-type,mcp-protocol-version",
  };
  return await askAll(site.url, { method: "OPTIONS", path, headers });
}

function corsOf(headers: IncomingHttpHeaders): string[] {
  return Object.keys(headers).filter((name) => name.startsWith("access-control-"));
}

describe("[SRV-16] a page of an allowed origin", () => {
  it.each(["/mcp", "/mcp/flat", "/mcp/compact", "/mcp/devices/desk", "/api/v1/devices", "/api/v1/events"])(
    "may send a preflight to %s without a token",
    async (path) => {
      for (const origin of [page, extension]) {
        const { status, text, headers } = await preflight(path, origin);
        expect([status, text, headers["access-control-allow-origin"]]).toEqual([204, "", origin]);
        expect(headers["access-control-allow-credentials"]).toBeUndefined();
        expect(listed(headers["access-control-allow-methods"])).toEqual(
          expect.arrayContaining(["get", "post", "delete", "patch", "put"]),
        );
        expect(listed(headers["access-control-allow-headers"])).toEqual(
          expect.arrayContaining([
            "authorization",
            "content-type",
            "idempotency-key",
            "last-event-id",
            "mcp-method",
            "mcp-name",
            "mcp-protocol-version",
            "mcp-session-id",
          ]),
        );
        expect(headers.vary).toContain("Origin");
      }
    },
  );

  it("can read answers, errors and streams, and the headers it needs", async () => {
    const headers = { origin: page };
    const opened = await say(site, { headers, body: initialize() });
    const refused = await say(site, { token: "", headers, body: initialize() });
    const rest = await site.rest("GET", "/devices", undefined, headers);
    const nothing = await site.rest("GET", "/nothing", undefined, headers);
    const id = await openSession(site);
    const stream = await listen(site, { method: "GET", headers: { ...headers, "mcp-session-id": id } });
    stream.destroy();
    expect([opened.status, refused.status, rest.status, nothing.status, stream.statusCode]).toEqual([
      200, 401, 200, 404, 200,
    ]);
    for (const answer of [opened, refused, rest, nothing, stream]) {
      expect(answer.headers["access-control-allow-origin"]).toBe(page);
      expect(answer.headers["access-control-allow-credentials"]).toBeUndefined();
      expect(listed(answer.headers["access-control-expose-headers"])).toEqual(
        expect.arrayContaining(["mcp-session-id", "mcp-protocol-version", "www-authenticate", "retry-after"]),
      );
      expect(answer.headers.vary).toContain("Origin");
    }
  });

  it("is not authenticated by a console session", async () => {
    const signedIn = await askAll(site.url, {
      method: "POST",
      path: "/api/v1/session",
      headers: { ...ofConsole, "content-type": "application/json", origin: site.url },
      body: JSON.stringify({ secret: adminToken }),
    });
    const cookie = String(signedIn.headers["set-cookie"]).split(";")[0] ?? "";
    const withCookie = async (origin: string) =>
      (await askAll(site.url, { path: "/api/v1/devices", headers: { ...ofConsole, cookie, origin } })).status;
    expect([await withCookie(site.url), await withCookie(page)]).toEqual([200, 401]);
  });
});

describe("[SRV-16] a page of any other origin", () => {
  it.each([foreign, "https://agent.example.evil.example", "http://agent.example", "null", `${page}:8443`])(
    "such as %s is rejected",
    async (origin) => {
      for (const path of ["/mcp", "/api/v1/devices"]) {
        const asked = await preflight(path, origin);
        const headers = { origin, authorization: `Bearer ${adminToken}` };
        const got = await askAll(site.url, { path, headers });
        for (const answer of [asked, got]) {
          expect([answer.status, corsOf(answer.headers)]).toEqual([403, []]);
        }
      }
    },
  );

  it("of the gateway's own host is served as before, without these headers", async () => {
    const { status, headers } = await site.rest("GET", "/devices", undefined, { origin: site.url });
    expect([status, corsOf(headers)]).toEqual([200, []]);
  });
});

describe("OPTIONS /mcp", () => {
  it("lists the allowed methods", async () => {
    const { status, headers } = await askAll(site.url, { method: "OPTIONS", path: "/mcp" });
    expect([status, headers["allow"]]).toEqual([204, "GET, POST, DELETE, OPTIONS"]);
    const foreignHost = { host: "evil.example" };
    const refused = await askAll(site.url, { method: "OPTIONS", path: "/mcp", headers: foreignHost });
    expect(refused.status).toBe(403);
  });
});

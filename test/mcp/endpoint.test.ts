import { limits } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { askAll } from "../http-client.ts";
import { openSite } from "../site.ts";
import { initialize, modern, say } from "./rpc.ts";

describe("[SRV-2] the endpoint /mcp", () => {
  it("requires a token, and says so in the WWW-Authenticate header", async () => {
    const site = await openSite();
    const challenge = async (token: string) => {
      const { status, headers } = await say(site, { token, body: initialize() });
      expect(status).toBe(401);
      return headers["www-authenticate"];
    };
    expect(await challenge("")).toBe('Bearer realm="tendon"');
    expect(await challenge("not-a-token-of-this-gateway")).toBe(
      'Bearer realm="tendon", error="invalid_token"',
    );
    // There is no issuer to name.
    for (const path of [
      "/.well-known/oauth-protected-resource",
      "/.well-known/oauth-protected-resource/mcp",
    ]) {
      expect((await askAll(site.url, { path })).status).toBe(404);
    }
  });

  it("requires the scope `read`", async () => {
    const site = await openSite();
    const { body } = await site.rest("POST", "/tokens", { name: "x", scopes: ["provision"] });
    const answer = await say(site, { token: String(body["token"]), body: initialize() });
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ code: "forbidden", scope: "read" });
    expect(answer.headers["www-authenticate"]).toBe(
      'Bearer realm="tendon", error="insufficient_scope", scope="read"',
    );
  });

  it.each([
    ["Origin", { origin: "https://evil.example" }],
    ["Host", { host: "evil.example" }],
  ])("rejects a foreign %s before it checks token and body", async (_which, headers) => {
    const site = await openSite();
    const { status } = await say(site, { token: "", headers, body: "{" });
    expect(status).toBe(403);
  });

  it("accepts a page of its own origin", async () => {
    const site = await openSite();
    expect((await say(site, { headers: { origin: site.url }, body: initialize() })).status).toBe(200);
  });

  it.each([
    ["no JSON", "{", {}, 400, -32700],
    ["nothing", "", {}, 400, -32700],
    ["JSON that is no JSON-RPC", '{"a":1}', {}, 400, -32600],
    ["another content type", "{}", { "content-type": "text/plain" }, 415, -32600],
    ["a body that is too large", `"${"x".repeat(limits.mcpBodyBytes.max)}"`, {}, 413, -32600],
    ["a prototype", '{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{}}', {}, 400, -32700],
  ])("answers %s with a JSON-RPC error", async (_what, text, headers, status, code) => {
    const site = await openSite();
    const answer = await say(site, { body: text, headers });
    expect([answer.status, answer.body["error"]]).toEqual([status, expect.objectContaining({ code })]);
  });

  it("supports only POST without sessions, and no unknown methods", async () => {
    const site = await openSite();
    const headers = { "mcp-protocol-version": "2026-07-28" };
    expect((await say(site, { method: "GET", headers })).status).toBe(405);
    expect((await say(site, { method: "DELETE", headers })).status).toBe(405);
    expect((await say(site, { method: "GET" })).status).toBe(400);
    expect((await say(site, { method: "PUT", headers })).status).toBe(405);
  });

  it("serves a device's address only if the token can see the device", async () => {
    const site = await openSite();
    const { status, body } = await say(site, { ...modern("tools/list"), at: "/mcp/devices/no-such-device" });
    expect([status, body["code"]]).toEqual([404, "device_unknown"]);
  });
});

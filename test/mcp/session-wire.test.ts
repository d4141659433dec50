/** Raw HTTP with sessions: mistakes of clients, and correct use by old ones. */

import { limits } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import { initialize, listen, messagesOf, openSession, say } from "./rpc.ts";

const list = (id: number | string) => ({ jsonrpc: "2.0", id, method: "tools/list" });

async function opened(): Promise<{ site: Site; headers: Record<string, string> }> {
  const site = await openSite();
  return { site, headers: { "mcp-session-id": await openSession(site) } };
}

describe("a session's HTTP", () => {
  it.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])("speaks %s", async (version) => {
    const site = await openSite();
    const { status, headers, body } = await say(site, { body: initialize(version) });
    expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
    expect(headers["mcp-session-id"]).toMatch(/^[\x21-\x7e]+$/);
    expect(body["result"]).toMatchObject({
      protocolVersion: version,
      serverInfo: { name: "tendon" },
      instructions: expect.stringContaining("devices_list"),
    });
  });

  it("offers its newest version to a client with an unknown one", async () => {
    const site = await openSite();
    const { body } = await say(site, { body: initialize("1999-01-01") });
    expect(body["result"]).toMatchObject({ protocolVersion: "2025-11-25" });
  });

  it.each([
    ["an Accept without events", { accept: "application/json" }, list(1), 406, -32000],
    ["an unknown version", { "mcp-protocol-version": "1999-01-01" }, list(1), 400, -32000],
    ["a second initialize", {}, initialize(), 400, -32600],
    ["something else than JSON-RPC", {}, { hello: true }, 400, -32600],
    ["an empty batch", {}, [], 400, -32600],
    [
      "a batch that is too long",
      {},
      Array.from({ length: limits.mcpBatch.max + 1 }, (_, id) => list(id)),
      400,
      -32600,
    ],
    ["an id twice in a batch", {}, [list(1), list(1)], 400, -32600],
  ])("rejects %s", async (_what, more, body, status, code) => {
    const { site, headers } = await opened();
    const answer = await say(site, { headers: { ...headers, ...more }, body });
    expect([answer.status, answer.body["error"]]).toEqual([status, expect.objectContaining({ code })]);
    expect((await say(site, { headers, body: list(9) })).status).toBe(200);
  });

  it("rejects an id that is in use, and accepts it again afterwards", async () => {
    const { site, headers } = await opened();
    const device = await site.join({ tools: [tool("slow")] });
    const params = { name: "device_call", arguments: { device: device.id, tool: "slow" } };
    const call = { jsonrpc: "2.0", id: 5, method: "tools/call", params };
    const first = say(site, { headers, body: call });
    const request = await device.nextRequest("tools/call");
    expect((await say(site, { headers, body: call })).status).toBe(400);
    device.reply(request.id, textContent("once"));
    expect((await first).body).toMatchObject({ id: 5, result: { content: [{ text: "once" }] } });
    const again = say(site, { headers, body: call });
    device.reply((await device.nextRequest("tools/call")).id, textContent("twice"));
    expect((await again).body).toMatchObject({ id: 5, result: { content: [{ text: "twice" }] } });
  });

  it("answers several messages at once with several, and notifications with nothing", async () => {
    const { site, headers } = await opened();
    const ping = { jsonrpc: "2.0", id: "two", method: "ping" };
    const note = { jsonrpc: "2.0", method: "notifications/initialized" };
    const { text } = await say(site, { headers, body: [list(1), ping, note] });
    expect(
      messagesOf(text)
        .map(({ id }) => id)
        .sort(),
    ).toEqual([1, "two"]);
    const quiet = await say(site, { headers, body: note });
    expect([quiet.status, quiet.text]).toEqual([202, ""]);
  });

  it("has one stream of its own at a time", async () => {
    const { site, headers } = await opened();
    const first = await listen(site, { method: "GET", headers });
    expect((await say(site, { method: "GET", headers })).status).toBe(409);
    first.destroy();
    await expect
      .poll(async () => {
        const next = await listen(site, { method: "GET", headers });
        next.destroy();
        return next.statusCode;
      })
      .toBe(200);
    const { status } = await say(site, { method: "GET", headers: { ...headers, accept: "text/html" } });
    expect(status).toBe(406);
  });

  it("answers an unknown method and invalid arguments with JSON-RPC errors", async () => {
    const { site, headers } = await opened();
    const unknown = await say(site, { headers, body: { jsonrpc: "2.0", id: 1, method: "no/such" } });
    expect(unknown.body).toMatchObject({ id: 1, error: { code: -32601 } });
    const wrong = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: 7 } };
    expect((await say(site, { headers, body: wrong })).body).toMatchObject({
      id: 2,
      error: { code: -32602 },
    });
    const cursor = { jsonrpc: "2.0", id: 3, method: "tools/list", params: { cursor: "made-up" } };
    expect((await say(site, { headers, body: cursor })).body).toMatchObject({
      id: 3,
      error: { code: -32602 },
    });
  });
});

import { limits } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { unusedName } from "../access/tokens.ts";
import { ManualClock } from "../manual-clock.ts";
import { tool } from "../raw-device.ts";
import { adminToken, openSite, type Site } from "../site.ts";
import { listen, messagesOf, modern, openMany, openSession, say } from "./rpc.ts";

const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };

async function makeToken(
  site: Site,
  scopes: string[] = ["read", "call"],
): Promise<{ id: string; token: string }> {
  const { body } = await site.rest("POST", "/tokens", { name: unusedName(site, "agent"), scopes });
  return body as unknown as { id: string; token: string };
}

function within(id: string): { "mcp-session-id": string; "mcp-protocol-version": string } {
  return { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
}

describe("a session", () => {
  it("[SRV-3] is opened by initialize and belongs to its token and address", async () => {
    const site = await openSite();
    const { token } = await makeToken(site);
    const id = await openSession(site);
    const mine = await say(site, { headers: within(id), body: list });
    expect(mine.status).toBe(200);
    expect(mine.body).toMatchObject({ id: 2, result: { tools: expect.any(Array) } });
    expect((await say(site, { headers: within(id), body: list, token })).status).toBe(404);
    expect((await say(site, { headers: within(id), body: list, at: "/mcp/compact" })).status).toBe(404);
    expect((await say(site, { headers: within("made-up"), body: list })).status).toBe(404);
    expect((await say(site, { body: list })).status).toBe(400);
  });

  it("[SRV-3] ends when its agent deletes it", async () => {
    const site = await openSite();
    const id = await openSession(site);
    const stream = await listen(site, { method: "GET", headers: within(id) });
    expect(stream.statusCode).toBe(200);
    expect((await say(site, { method: "DELETE", headers: within(id) })).status).toBe(200);
    stream.resume();
    await new Promise((resolve) => {
      stream.once("close", resolve);
    });
    expect((await say(site, { headers: within(id), body: list })).status).toBe(404);
  });

  it("[SRV-3] expires when it is unused, but not while its stream is open", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const left = await openSession(site);
    const kept = await openSession(site);
    const stream = await listen(site, { method: "GET", headers: within(kept) });
    clock.advance(29 * 60_000);
    expect((await say(site, { headers: within(left), body: list })).status).toBe(200);
    clock.advance(32 * 60_000);
    expect((await say(site, { headers: within(left), body: list })).status).toBe(404);
    expect((await say(site, { headers: within(kept), body: list })).status).toBe(200);
    stream.destroy();
  });

  it("[SRV-3] ends beyond a token's limit, the longest idle first, but not while it is in use", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const { token } = await makeToken(site);
    const others = await openSession(site);
    const ids: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      ids.push(await openSession(site, { token }));
      clock.advance(1);
    }
    await openMany(limits.mcpSessionsPerToken.max - 4, () => openSession(site, { token }));
    const [streaming = "", used = "", idle = "", next = ""] = ids;
    const stream = await listen(site, { method: "GET", token, headers: within(streaming) });
    const status = async (id: string, as = token) =>
      (await say(site, { token: as, headers: within(id), body: list })).status;
    expect(await status(used)).toBe(200);
    clock.advance(1);
    await openSession(site, { token });
    expect(await status(idle)).toBe(404);
    await openSession(site, { token });
    expect(await status(next)).toBe(404);
    expect([await status(streaming), await status(used), await status(others, adminToken)]).toEqual([
      200, 200, 200,
    ]);
    stream.destroy();
  });

  it("[SRV-3] is rejected while all sessions of a token are in use, until one ends", async () => {
    const site = await openSite();
    const { token } = await makeToken(site);
    const open = await openMany(limits.mcpSessionsPerToken.max, async () => {
      const id = await openSession(site, { token });
      return { id, stream: await listen(site, { method: "GET", token, headers: within(id) }) };
    });
    const { status, body } = await say(site, {
      token,
      body: { jsonrpc: "2.0", id: 1, method: "initialize", params: initializeParams },
    });
    expect(status).toBe(429);
    expect(body["error"]).toMatchObject({ message: expect.stringContaining("in use") });
    await openSession(site);
    await say(site, { method: "DELETE", token, headers: within(open[0]?.id ?? "") });
    await openSession(site, { token });
    for (const { stream } of open) stream.destroy();
  });

  it("[SRV-4] and every open stream ends with its token", async () => {
    const site = await openSite();
    const { id: tokenId, token } = await makeToken(site);
    const id = await openSession(site, { token });
    const own = await listen(site, { method: "GET", token, headers: within(id) });
    const listening = modern("subscriptions/listen", { notifications: { toolsListChanged: true } });
    const subscribed = await listen(site, { ...listening, token });
    expect([own.statusCode, subscribed.statusCode]).toEqual([200, 200]);
    const ended = [own, subscribed].map(
      (stream) =>
        new Promise((resolve) => {
          stream.on("error", () => undefined);
          stream.once("close", resolve);
          stream.resume();
        }),
    );
    await site.rest("DELETE", `/tokens/${tokenId}`);
    await Promise.all(ended);
    expect((await say(site, { token, headers: within(id), body: list })).status).toBe(401);
  });

  it("[SRV-4] and every open stream ends soon after its token has expired", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const expiresAt = new Date(clock.now() + 90_000).toISOString();
    const { body } = await site.rest("POST", "/tokens", { name: "brief", scopes: ["read"], expiresAt });
    const token = String(body["token"]);
    const id = await openSession(site, { token });
    const own = await listen(site, { method: "GET", token, headers: within(id) });
    const ended = new Promise((resolve) => {
      own.once("close", resolve);
      own.on("error", () => undefined);
      own.resume();
    });
    clock.advance(60_000);
    expect((await say(site, { token, headers: within(id), body: list })).status).toBe(200);
    clock.advance(61_000);
    await ended;
    expect((await say(site, { token, headers: within(id), body: list })).status).toBe(401);
  });

  it("sends missed messages to an agent whose stream broke", async () => {
    const site = await openSite();
    const id = await openSession(site);
    const stream = await listen(site, { method: "GET", headers: within(id) });
    await site.join({ tools: [tool("a")] });
    const seen = await new Promise<string>((resolve) => {
      stream.once("data", (chunk: Buffer) => resolve(chunk.toString()));
    });
    expect(messagesOf(seen)).toMatchObject([{ method: "notifications/tools/list_changed" }]);
    const lastId = /^id: (.+)$/m.exec(seen)?.[1] ?? "";
    stream.destroy();
    await site.join({ deviceId: "02:00:00:00:00:02", tools: [tool("b")] });
    const again = await listen(site, { method: "GET", headers: { ...within(id), "last-event-id": lastId } });
    const missed = await new Promise<string>((resolve) => {
      again.once("data", (chunk: Buffer) => resolve(chunk.toString()));
    });
    expect(messagesOf(missed)[0]).toMatchObject({ method: "notifications/tools/list_changed" });
    again.destroy();
  });
});

const initializeParams = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "by-hand", version: "1" },
};

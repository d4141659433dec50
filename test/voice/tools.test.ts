import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { boardId, directBoard, openUpstream, openVoiceSite, talk, webSocketBoard } from "./voice-site.ts";

const volume = "self.audio_speaker.set_volume";

interface History {
  readonly calls: readonly { readonly tool: string; readonly principal: string; readonly outcome: string }[];
}

describe("a voice server's tools", () => {
  it("[VOI-6] are exactly the board's tools for agents, from its first request on", async () => {
    const upstream = await openUpstream();
    const plain = directBoard(upstream.server);
    await plain.connect();
    const without = await upstream.connections.take();
    await until(() => without.mcp.tools.length > 0, "the list");

    const site = await openVoiceSite(upstream.server.url);
    await webSocketBoard(site).connect();
    const connection = await upstream.connections.take();
    await until(() => connection.mcp.tools.length > 0, "the list");
    expect(connection.mcp.tools).toEqual(without.mcp.tools);
    expect(connection.mcp.tools.map(({ name }) => name)).not.toContain("self.reboot");
    expect((await site.toolNames(boardId)).includes("self.reboot")).toBe(true);
  });

  it("[VOI-6] answer `initialize` as the board does", async () => {
    const upstream = await openUpstream();
    await directBoard(upstream.server).connect();
    const without = await upstream.connections.take();
    const site = await openVoiceSite(upstream.server.url);
    await webSocketBoard(site).connect();
    const connection = await upstream.connections.take();
    const [direct, relayed] = [
      await without.mcp.request("initialize"),
      await connection.mcp.request("initialize"),
    ];
    expect(relayed.result).toEqual(direct.result);
  });

  it("[VOI-6] are listed completely, on several pages", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = webSocketBoard(site);
    for (let number = 0; number < 60; number += 1) {
      device.addTool(`self.extra.tool_${number}`, `Tool ${number}. ${"Words. ".repeat(40)}`, {}, () => true);
    }
    await device.connect();
    const connection = await upstream.connections.take();
    await until(() => connection.mcp.tools.length > 0, "the list");
    expect(connection.mcp.tools.length).toBeGreaterThan(60);
    expect(new Set(connection.mcp.tools.map(({ name }) => name)).size).toBe(connection.mcp.tools.length);
    const first = await connection.mcp.request("tools/list", {});
    expect(Buffer.byteLength(JSON.stringify(first.result))).toBeLessThan(8_200);
    expect((await connection.mcp.request("tools/list", { cursor: "nowhere" })).error?.message).toMatch(
      /cursor/,
    );
  });

  it("[VOI-6] do not include user-only tools, which cannot be called either", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = webSocketBoard(site);
    await device.connect();
    const connection = await upstream.connections.take();
    const asked = (await connection.mcp.request("tools/list", { withUserTools: true })).result;
    expect(JSON.stringify(asked)).not.toContain("self.reboot");
    expect((await connection.mcp.call("self.reboot")).error?.message).toMatch(/^forbidden/);
    expect(
      (await connection.mcp.call("self.upgrade_firmware", { url: "http://127.0.0.1/x" })).error?.message,
    ).toMatch(/^forbidden/);
    expect((await connection.mcp.call("self.no.such")).error?.message).toMatch(/^tool_unknown/);
    expect(device.connected).toBe(true);
  });

  it("[VOI-6] are called through the queue and are in the history with its name", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = webSocketBoard(site);
    await device.connect();
    const connection = await upstream.connections.take();
    expect((await connection.mcp.call(volume, { volume: 33 })).result).toEqual({
      content: [{ type: "text", text: "true" }],
      isError: false,
    });
    expect(device.state.get("volume")).toBe(33);
    expect((await connection.mcp.call(volume, { volume: 300 })).error?.message).toMatch(
      /^arguments_invalid: \/volume/,
    );
    const { calls } = (await site.rest("GET", "/calls")).body as unknown as History;
    expect(calls).toEqual([
      expect.objectContaining({ tool: volume, principal: "voice-server", outcome: "arguments_invalid" }),
      expect.objectContaining({ tool: volume, principal: "voice-server", outcome: "ok" }),
    ]);
  });

  it("[VOI-6] and an agent's calls are separate: each gets its own answers with its own ids", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = webSocketBoard(site);
    device.addTool("self.echo", "Says it again", { text: { type: "string" } }, ({ text }) => text);
    await device.connect();
    const connection = await upstream.connections.take();
    await site.listed(boardId);
    const theirs = async (text: string) => {
      const { result } = await connection.mcp.call("self.echo", { text });
      return (result as { content: { text: string }[] }).content[0]?.text;
    };
    const ours = async (text: string) => {
      const { body } = await site.call(boardId, "self.echo", { text });
      return (body["result"] as unknown as { content: { text: string }[] }).content[0]?.text;
    };
    for (let round = 0; round < 20; round += 1) {
      const asked = [1, 2, 3].flatMap((n) => [theirs(`server ${round} ${n}`), ours(`agent ${round} ${n}`)]);
      expect(await Promise.all(asked)).toEqual(
        [1, 2, 3].flatMap((n) => [`server ${round} ${n}`, `agent ${round} ${n}`]),
      );
    }
  });

  it("[VOI-6] neither starve an agent's calls nor are starved by them", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url, { config: { calls: { queue: 4 } } });
    const device = webSocketBoard(site);
    const order: string[] = [];
    const open: (() => void)[] = [];
    device.addTool("self.wait", "Waits", { who: { type: "string" } }, async ({ who }) => {
      order.push(who);
      await new Promise<void>((resolve) => open.push(resolve));
      return true;
    });
    await device.connect();
    const connection = await upstream.connections.take();
    await site.listed(boardId);
    const agents = [1, 2, 3, 4, 5].map((n) => site.call(boardId, "self.wait", { who: `agent ${n}` }));
    await until(async () => (await site.device(boardId))["queuedCalls"] === 4, "a full queue");
    // The agents' queue is full, but not the voice server's.
    const server = [1, 2].map((n) => connection.mcp.call("self.wait", { who: `server ${n}` }));
    await until(async () => (await site.device(boardId))["queuedCalls"] === 6, "both queues");
    for (let turn = 0; turn < 7; turn += 1) {
      await until(() => open.length > turn, "the next call");
      open[turn]?.();
    }
    expect((await Promise.all(agents)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await Promise.all(server)).map(({ error }) => error)).toEqual([undefined, undefined]);
    expect(order).toEqual(["agent 1", "agent 2", "server 1", "agent 3", "server 2", "agent 4", "agent 5"]);
  });

  it("[VOI-6] are called a few at a time: more are rejected, without blocking agents", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = webSocketBoard(site);
    const open: (() => void)[] = [];
    device.addTool("self.wait", "Waits", {}, async () => {
      await new Promise<void>((resolve) => open.push(resolve));
      return true;
    });
    await device.connect();
    const connection = await upstream.connections.take();
    await site.listed(boardId);
    const asked = Array.from({ length: 12 }, () => connection.mcp.call("self.wait"));
    const refused = await Promise.all(asked.slice(8));
    for (const { error } of refused) expect(error?.message).toMatch(/^queue_full/);
    const agent = site.call(boardId, volume, { volume: 5 });
    for (let turn = 0; turn < 8; turn += 1) {
      await until(() => open.length > turn, "the next call");
      open[turn]?.();
    }
    expect((await agent).status).toBe(200);
    for (const { result } of await Promise.all(asked.slice(0, 8))) expect(result).toBeDefined();
  });

  it("[VOI-6] keep working when the server's own MCP is broken", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = webSocketBoard(site);
    await device.connect();
    const connection = await upstream.connections.take();
    for (const payload of [
      null,
      [],
      7,
      {},
      { jsonrpc: "1.0", id: 1, method: "tools/list" },
      { jsonrpc: "2.0" },
    ]) {
      connection.say({ type: "mcp", payload });
    }
    connection.say({ type: "mcp", payload: { jsonrpc: "2.0", id: null, method: "tools/list" } });
    connection.say({ type: "mcp", payload: { jsonrpc: "2.0", id: 5, method: "tools/list", params: [] } });
    connection.say({ type: "mcp", payload: { jsonrpc: "2.0", method: "notifications/initialized" } });
    expect((await connection.mcp.request("ping")).error?.message).toBe("Method not implemented: ping");
    expect((await connection.mcp.request("tools/call", {})).error?.message).toBe("Missing name");
    expect((await connection.mcp.request("tools/call", { name: volume, arguments: [] })).error?.message).toBe(
      "Invalid arguments",
    );
    expect((await connection.mcp.call(volume, { volume: 1 })).error).toBeUndefined();
  });

  it("[VOI-6] include the board's notifications", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = webSocketBoard(site);
    const { connection } = await talk(device, upstream);
    device.notify("notifications/button", { pressed: true });
    const item = await until(
      () =>
        connection.received.find(
          (item) => item.kind === "text" && item.text.includes("notifications/button"),
        ),
      "the notification",
    );
    expect(item.kind === "text" && JSON.parse(item.text)).toEqual({
      session_id: connection.sessionId,
      type: "mcp",
      payload: { jsonrpc: "2.0", method: "notifications/button", params: { pressed: true } },
    });
  });
});

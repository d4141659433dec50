/** The connection of an outgoing endpoint: its signs of life, its ends, how many are opened at once, how long a call may take. */
import { once } from "node:events";
import net from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { openServer } from "../http-devices/servers.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type Fields, tool } from "../raw-device.ts";
import { openSite } from "../site.ts";
import { Broker, callFrame, type FrameSocket, hosted } from "./frames.ts";
import { inState } from "./outgoing-state.ts";

const secret = "a-token-of-the-agent";

async function open(broker: Broker, path = "/mcp/", more: Fields = {}) {
  const clock = new ManualClock(Date.now());
  const endpoints = [{ url: broker.url(secret, path), token: "voice", view: "flat" }];
  const site = await openSite({ clock, config: { ...more, agents: { endpoints } } });
  await site.rest("POST", "/tokens", { name: "voice", scopes: ["read", "call"] });
  return { site, clock, peer: await broker.arrival() };
}

/** The answer with this id, past notifications. */
async function nextWith(peer: FrameSocket, id: number): Promise<Fields> {
  for (;;) {
    const frame = await peer.next();
    if ("id" in frame) {
      expect(frame["id"]).toBe(id);
      return frame;
    }
  }
}

const pinged = (peer: FrameSocket) => once(peer.socket, "ping");

describe("the connection of an outgoing endpoint", () => {
  it("[END-6] has a ping every 30 s, and ends when nothing comes until the next", async () => {
    const { site, clock, peer } = await open(await Broker.open({ pongs: false }));
    await inState(site, "connected");
    const first = pinged(peer);
    clock.advance(30_000);
    await first;
    // Any frame is a sign of life.
    await peer.ask(hosted.ping);
    const second = pinged(peer);
    clock.advance(30_000);
    await second;
    clock.advance(30_000);
    expect((await peer.closed()).code).toBe(1006);
    const { lastError } = await inState(site, "retrying");
    expect(lastError).toMatchObject({ message: "the connection was lost" });
  });

  it("[END-6] stays open for an hour of pongs", async () => {
    const { site, clock, peer } = await open(await Broker.open());
    await inState(site, "connected");
    for (let minute = 0; minute < 60; minute += 1) {
      const ping = pinged(peer);
      clock.advance(30_000);
      await ping;
      // The pong is on its way before this.
      await peer.ask(hosted.ping);
    }
    expect(await inState(site, "connected")).toMatchObject({ lastError: null });
  });

  it.each<[string, (peer: FrameSocket) => void, string, string]>([
    [
      "4004, the hosted service's answer to any problem",
      ({ socket }) => socket.close(4004, "Internal server error"),
      "retrying",
      "it closed the connection (4004: Internal server error)",
    ],
    [
      "1000 with the reason of the self-hosted server: replaced",
      ({ socket }) => socket.close(1000, "新连接替换"),
      "replaced",
      "another program uses the same address; end it, or give each its own agent",
    ],
    [
      "1008, a token that the self-hosted server does not accept",
      ({ socket }) => socket.close(1008, "token无效"),
      "retrying",
      "it closed the connection (1008: token无效)",
    ],
    [
      "1000 without a reason, once",
      ({ socket }) => socket.close(1000),
      "retrying",
      "it closed the connection (1000)",
    ],
    [
      "1009, an answer that is too long for it",
      ({ socket }) => socket.close(1009),
      "retrying",
      "it closed the connection (1009)",
    ],
    ["a cut", ({ socket }) => socket.terminate(), "retrying", "the connection was lost"],
    [
      "a reason that quotes the address",
      ({ socket }) => socket.close(1011, `bad ?token=${secret}`),
      "retrying",
      "it closed the connection (1011: bad …)",
    ],
  ])("[END-6] [END-7] [END-9] ends with %s", async (_name, end, state, message) => {
    const { site, peer } = await open(await Broker.open());
    await inState(site, "connected");
    end(peer);
    const { lastError } = await inState(site, state);
    expect(lastError).toMatchObject({ message });
  });

  it("[END-6] is one of three at most that are opened at the same time", async () => {
    const sockets: net.Socket[] = [];
    // It accepts connections and never answers the upgrade.
    const silent = net.createServer((socket) => {
      sockets.push(socket.on("error", () => undefined));
    });
    await once(silent.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const { port } = silent.address() as net.AddressInfo;
    const endpoints = Array.from({ length: 8 }, (_, at) => ({
      url: `ws://127.0.0.1:${port}/mcp/?token=token-of-agent-${at}`,
      token: "voice",
    }));
    const clock = new ManualClock(Date.now());
    const site = await openSite({ clock, config: { agents: { endpoints } } });
    await site.rest("POST", "/tokens", { name: "voice", scopes: ["read", "call"] });
    // Those that failed wait their turn.
    for (const opened of [3, 6, 9]) {
      await until(() => sockets.length === opened, `${opened} connections`);
      // More would have come by the time that this is answered.
      await site.rest("GET", "/endpoints");
      expect(sockets).toHaveLength(opened);
      clock.advance(10_000);
    }
    const { body } = await site.rest("GET", "/endpoints");
    const errors = (body["endpoints"] as Fields[]).map(({ lastError }) => (lastError as Fields)["message"]);
    expect(new Set(errors)).toEqual(new Set(["it could not be reached in time"]));
  });

  it.each([
    ["28 s on a self-hosted server, which waits 30 s", "/mcp_endpoint/mcp/", 28_000],
    ["290 s on a hosted one, which waits 300 s", "/mcp/", 290_000],
  ])("[END-1] lets a call take %s", async (_name, path, ms) => {
    const { site, clock, peer } = await open(await Broker.open(), path);
    const device = await site.join({ tools: [tool("self.lamp.on")] });
    await peer.ask(hosted.initialize);
    const args = { device: device.id, tool: "self.lamp.on", timeoutMs: 300_000 };
    peer.send(callFrame(3, "device_call", args));
    await device.nextRequest("tools/call");
    for (let passed = 10_000; passed < ms; passed += 10_000) {
      clock.advance(10_000);
      // The pongs of both connections are on their way before this.
      peer.send(hosted.ping);
      await nextWith(peer, hosted.ping.id);
      await site.rest("GET", "/devices");
    }
    clock.advance(((ms - 1) % 10_000) + 1);
    const { result } = await nextWith(peer, 3);
    expect((result as Fields)["error"]).toMatch(/^device_timeout: /);
  });

  it.each(["/mcp_endpoint/mcp/", "/mcp/"])(
    "[END-1] keeps a shorter deadline of the settings (%s)",
    async (path) => {
      const { site, clock, peer } = await open(await Broker.open(), path, { calls: { timeoutMs: 5_000 } });
      const device = await site.join({ tools: [tool("self.lamp.on")] });
      await peer.ask(hosted.initialize);
      peer.send(callFrame(3, "device_call", { device: device.id, tool: "self.lamp.on" }));
      await device.nextRequest("tools/call");
      clock.advance(5_000);
      const { result } = await nextWith(peer, 3);
      expect((result as Fields)["error"]).toMatch(/^device_timeout: /);
    },
  );

  it("[END-1] keeps the shorter deadline of an MCP server", async () => {
    const server = await openServer();
    const http = [{ alias: "lamp", url: server.url, timeoutMs: 5_000 }];
    const { site, clock, peer } = await open(await Broker.open(), "/mcp/", { devices: { http } });
    await until(async () => (await site.toolNames("lamp")).includes("wait"), "its tools");
    await peer.ask(hosted.initialize);
    peer.send(callFrame(3, "device_call", { device: "lamp", tool: "wait" }));
    await until(() => server.tools.runs.get("wait") === 1, "the call");
    clock.advance(5_000);
    const { result } = await nextWith(peer, 3);
    expect((result as Fields)["error"]).toMatch(/^device_timeout: /);
  });
});

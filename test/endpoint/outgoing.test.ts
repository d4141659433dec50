import type { ConfigInput } from "@tendon/gateway";
import { describe, expect, it } from "vitest";
import { askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type Fields, textContent, tool } from "../raw-device.ts";
import { firstDevice, openSite, type Site } from "../site.ts";
import { Broker, callFrame, type FrameSocket, hosted, jwt } from "./frames.ts";
import { inState } from "./outgoing-state.ts";

const inYear = Math.floor(Date.UTC(2027, 5, 1) / 1_000);
const secret = jwt({ agentId: 1000001, endpointId: "agent_1000001", purpose: "mcp-endpoint", exp: inYear });

interface Opened {
  readonly site: Site;
  readonly broker: Broker;
  readonly clock: ManualClock;
}

async function open(
  view = "flat",
  more: { readonly config?: ConfigInput; readonly start?: number } = {},
  token = secret,
): Promise<Opened> {
  const broker = await Broker.open();
  const clock = new ManualClock(more.start ?? Date.now());
  const endpoints = [{ url: broker.url(token), token: "voice", view }];
  const site = await openSite({ clock, config: { ...more.config, agents: { endpoints } } });
  return { site, broker, clock };
}

async function makeToken(site: Site, scopes = ["read", "call"]): Promise<string> {
  const { body } = await site.rest("POST", "/tokens", { name: "voice", scopes });
  return String(body["id"]);
}

async function endpoint(site: Site): Promise<Fields> {
  const { body } = await site.rest("GET", "/endpoints");
  return (body["endpoints"] as Fields[])[0] ?? {};
}

async function greet(peer: FrameSocket): Promise<Fields> {
  const answer = await peer.ask(hosted.initialize);
  peer.send(hosted.initialized);
  return answer;
}

describe("an outgoing endpoint", () => {
  it("[END-1] answers the recorded sequence of the hosted service, frame by frame", async () => {
    const { site, broker } = await open();
    const device = await site.join({ tools: [tool("self.lamp.on")] });
    await makeToken(site);
    const peer = await broker.arrival();
    expect(broker.paths).toEqual([`/mcp/?token=${secret}`]);
    expect(await greet(peer)).toMatchObject({
      jsonrpc: "2.0",
      id: 0,
      result: { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo: { name: "tendon" } },
    });
    const { id, result } = await peer.ask(hosted.list);
    const tools = (result as Fields)["tools"] as Fields[];
    const lamp = tools.find(({ name }) => String(name).endsWith("__lamp_on"));
    expect([id, Object.keys(lamp ?? {}).sort()]).toEqual([1, ["description", "inputSchema", "name"]]);
    expect(await peer.ask(hosted.ping)).toEqual({ jsonrpc: "2.0", id: 2, result: {} });
    const answered = peer.ask(callFrame(7, String(lamp?.["name"])));
    device.reply((await device.nextRequest("tools/call")).id, textContent("on"));
    expect(await answered).toEqual({
      jsonrpc: "2.0",
      id: 7,
      result: { content: [{ type: "text", text: "on" }], isError: false },
    });
    const shown = await inState(site, "connected");
    expect(shown).toMatchObject({
      token: "voice",
      view: "flat",
      agent: "1000001",
      expiresAt: "2027-06-01T00:00:00.000Z",
      expiresSoon: false,
      tools: tools.length,
      callsLastHour: 1,
      lastError: null,
    });
  });

  it.each([
    ["0", 0],
    ["an empty text", ""],
    ["a long text", `${"5f9c2b1e".repeat(40)}_n_7`],
    ["the text of a number", "7"],
    ["a fraction", 1.5],
    ["null", null],
  ])("[END-2] echoes an id with its type and value: %s", async (_name, id) => {
    const { site, broker } = await open("compact");
    await makeToken(site);
    const peer = await broker.arrival();
    await greet(peer);
    expect(await peer.ask({ ...hosted.ping, id })).toEqual({ jsonrpc: "2.0", id, result: {} });
    const { id: echoed, result } = await peer.ask(callFrame(id, "devices_list"));
    expect([echoed, (result as Fields)["isError"]]).toEqual([id, false]);
  });

  it("[END-2] answers pipelined requests, pages under a used id, and ignores what is not a message", async () => {
    const { site, broker } = await open("compact");
    await makeToken(site);
    const peer = await broker.arrival();
    for (const frame of ["INFO: starting", "[]", "7", { ...hosted.initialize, id: 1 }, hosted.initialized])
      peer.send(frame);
    peer.send({ ...hosted.list, id: 2 });
    peer.send({ ...hosted.list, id: 2, params: { cursor: null } });
    peer.send({ id: 3, jsonrpc: "2.0", method: "no/such", params: null });
    const ids = [await peer.next(), await peer.next(), await peer.next(), await peer.next()];
    expect(ids.map(({ id }) => id).sort()).toEqual([1, 2, 2, 3]);
    expect(ids.find(({ id }) => id === 3)).toMatchObject({ error: { code: -32601 } });
    expect(await site.metric('tendon_endpoint_frames_ignored_total{side="agent"}')).toBe(3);
  });

  it("[END-3] keeps what the vendor says about the board in the history, and names our board", async () => {
    const { site, broker, clock } = await open("device:lamp");
    const device = await site.join({ tools: [tool("self.lamp.on")] });
    await site.rest("PATCH", `/devices/${firstDevice}`, { alias: "lamp" });
    await makeToken(site);
    const peer = await broker.arrival();
    await greet(peer);
    const vendor = { serialNumber: firstDevice, clientId: "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a01" };
    const answered = peer.ask(callFrame("a", "lamp_on", {}, vendor));
    const { id, params } = await device.nextRequest("tools/call");
    expect(params).toEqual({ name: "self.lamp.on", arguments: {} });
    device.reply(id, textContent("on"));
    await answered;
    clock.advance(1_000);
    const call = await until(async () => {
      const { body } = await site.rest("GET", "/calls?principal=voice");
      return (body["calls"] as Fields[])[0];
    }, "the call in the history");
    const trace = await site.rest("GET", `/calls/${String(call["callId"])}`);
    expect(trace.body["origin"]).toEqual({
      via: "endpoint",
      client: "xz-mcp-broker 0.0.1",
      asker: { device: firstDevice, serialNumber: firstDevice, clientId: "8d0f1c52…", agentId: "1000001" },
    });
    expect(trace.text).not.toContain(vendor.clientId);
  });

  it.each<[string, unknown, Fields]>([
    [
      "text first, pictures as a sentence",
      {
        content: [
          { type: "image", data: "AA==", mimeType: "image/png" },
          { type: "text", text: "a cat" },
        ],
      },
      {
        content: [{ type: "text", text: "a cat\nThe answer has a picture, which cannot be shown here." }],
        isError: false,
      },
    ],
    [
      "a failure also as `error`",
      { content: [{ type: "text", text: "no lamp" }], isError: true },
      { content: [{ type: "text", text: "no lamp" }], isError: true, error: "no lamp" },
    ],
    ["nothing as OK", { content: [] }, { content: [{ type: "text", text: "OK" }], isError: false }],
  ])("[END-4] answers with %s", async (_name, given, expected) => {
    const { site, broker } = await open("flat");
    const device = await site.join({ tools: [tool("self.lamp.on")] });
    await makeToken(site);
    const peer = await broker.arrival();
    await greet(peer);
    const list = ((await peer.ask(hosted.list))["result"] as Fields)["tools"] as Fields[];
    const answered = peer.ask(
      callFrame(9, String(list.find(({ name }) => String(name).endsWith("lamp_on"))?.["name"])),
    );
    device.reply((await device.nextRequest("tools/call")).id, given);
    expect((await answered)["result"]).toEqual(expected);
  });

  it("[END-4] cuts a long answer with a mark, so that the whole frame has at most 8,192 bytes", async () => {
    const { site, broker } = await open("flat");
    const device = await site.join({ tools: [tool("self.lamp.on")] });
    await makeToken(site);
    const peer = await broker.arrival();
    await greet(peer);
    const list = ((await peer.ask(hosted.list))["result"] as Fields)["tools"] as Fields[];
    const name = String(list.find((each) => String(each["name"]).endsWith("lamp_on"))?.["name"]);
    for (const isError of [false, true]) {
      peer.send(callFrame("x".repeat(36), name));
      const long = { content: [{ type: "text", text: '灯"\n'.repeat(4_000) }], isError };
      device.reply((await device.nextRequest("tools/call")).id, long);
      const frame = await peer.frame();
      expect(Buffer.byteLength(frame)).toBeLessThanOrEqual(8_192);
      expect(Buffer.byteLength(frame)).toBeGreaterThan(7_900);
      expect(frame).toContain("…(cut)");
    }
  });

  it("[END-5] waits for its token, ends with it, and starts again with a new one", async () => {
    const { site, broker } = await open("compact");
    const waiting = await endpoint(site);
    expect([waiting["state"], waiting["detail"]]).toEqual([
      "waiting_for_token",
      "no valid token is named `voice`; create it with: tendon token create voice",
    ]);
    const id = await makeToken(site);
    const first = await broker.arrival();
    await inState(site, "connected");
    await site.rest("DELETE", `/tokens/${id}`);
    expect((await first.closed()).code).toBe(1000);
    await inState(site, "waiting_for_token");
    await makeToken(site);
    await broker.arrival();
    await inState(site, "connected");
  });

  it("[END-6] connects again after 1 s to 60 s, also after 4004, and starts over after 30 s of life", async () => {
    const { site, broker, clock } = await open("compact");
    await makeToken(site);
    const pauses: number[] = [];
    for (let failure = 0; failure < 8; failure += 1) {
      const peer = await broker.arrival();
      await inState(site, "connected");
      peer.socket.close(4004, "Internal server error");
      const { nextAttemptAt, lastError } = await inState(site, "retrying");
      expect(lastError).toMatchObject({ message: "it closed the connection (4004: Internal server error)" });
      pauses.push((Date.parse(String(nextAttemptAt)) - clock.now()) / 1_000);
      clock.advance(72_000);
    }
    for (const [at, pause] of pauses.entries()) {
      const plain = Math.min(60, 2 ** at);
      expect(pause).toBeGreaterThanOrEqual(plain * 0.8);
      expect(pause).toBeLessThanOrEqual(plain * 1.2);
    }
    const peer = await broker.arrival();
    await inState(site, "connected");
    clock.advance(29_000);
    clock.advance(1_000);
    peer.socket.close(4004);
    const { nextAttemptAt } = await inState(site, "retrying");
    expect(Date.parse(String(nextAttemptAt)) - clock.now()).toBeLessThanOrEqual(1_200);
  });

  it.each([
    ["at once, if the reason says so", 1, "新连接替换"],
    ["if it ends twice within 5 s of opening", 2, ""],
  ])("[END-7] leaves a replaced connection to the other program: %s", async (_name, times, reason) => {
    const { site, broker, clock } = await open("compact");
    await makeToken(site);
    for (let time = 0; time < times; time += 1) {
      const peer = await broker.arrival();
      await inState(site, "connected");
      peer.socket.close(1000, reason);
      if (time + 1 === times) break;
      await inState(site, "retrying");
      clock.advance(1_300);
    }
    const { nextAttemptAt } = await inState(site, "replaced");
    expect(Date.parse(String(nextAttemptAt)) - clock.now()).toBeGreaterThanOrEqual(240_000);
    const { body } = await askAll(site.url, { path: "/readyz" });
    expect(body["status"]).toBe("ready");
    expect((body["warnings"] as Fields)["endpoints"]).toContain("another program uses the same address");
  });

  it("[END-7] warns 30 days before the address expires, and never shows the address", async () => {
    const start = Date.UTC(2026, 0, 1);
    const soon = jwt({ agentId: "a-1", exp: start / 1_000 + 29 * 86_400 });
    const { site } = await open("compact", { start }, soon);
    await makeToken(site);
    expect(await inState(site, "connected")).toMatchObject({ agent: "a-1", expiresSoon: true });
    const ready = await askAll(site.url, { path: "/readyz" });
    expect((ready.body["warnings"] as Fields)["endpoints"]).toContain(
      "the token in its address expires on 2026-01-30",
    );
    for (const path of ["/endpoints", "/settings", "/audit"])
      expect((await site.rest("GET", path)).text).not.toContain(soon);
  });

  it("applies the rules for its token, and tells the agent of changed tools", async () => {
    const access = { rules: [{ tool: "self.lamp.on", effect: "confirm" as const }] };
    const { site, broker, clock } = await open("flat", { config: { access } });
    await makeToken(site);
    const peer = await broker.arrival();
    await greet(peer);
    await peer.ask(hosted.list);
    await site.join({ tools: [tool("self.lamp.on")] });
    await until(async () => (await site.toolNames(firstDevice)).length === 1, "its tool");
    clock.advance(1_000);
    expect(await peer.next()).toEqual({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    const list = ((await peer.ask(hosted.list))["result"] as Fields)["tools"] as Fields[];
    const name = String(list.find((each) => String(each["name"]).endsWith("lamp_on"))?.["name"]);
    const { result } = await peer.ask(callFrame(3, name));
    expect((result as Fields)["error"]).toMatch(/^approval_required: /);
  });
});

describe("the setting agents.endpoints", () => {
  it.each([
    ["ws://203.0.113.7/mcp/?token=secret-1", "must use wss://"],
    ["wss://user:pass@host.example/mcp/?token=secret-1", "must not have a user name or password"],
  ])("[END-9] refuses an unsafe address without quoting it: %s", async (url, problem) => {
    const endpoints = [{ url, token: "voice" }];
    const failure = openSite({ config: { agents: { endpoints } } });
    await expect(failure).rejects.toThrow(problem);
    await expect(failure).rejects.not.toThrow("secret-1");
  });
});

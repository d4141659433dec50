/** What the gateway's own endpoint allows: who may connect, how many, how long, and what it never says. */
import { describe, expect, it } from "vitest";
import { askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type Fields, textContent, tool } from "../raw-device.ts";
import { secretWatch } from "../secret-watch.ts";
import { openSite, type Site } from "../site.ts";
import { callFrame, dial, type FrameSocket, hosted, refusal } from "./frames.ts";
import { makeToken, provide, providerUrl } from "./provider.ts";

const callUrl = (site: Site, token: string) => `${site.url}/mcp_endpoint/call/?token=${token}`;
const plenty = { perSecond: 100_000, burst: 100_000 };

async function open(limits: Fields = {}, clock?: ManualClock): Promise<Site> {
  return await openSite({
    ...(clock === undefined ? {} : { clock }),
    config: { endpoint: { enabled: true }, limits },
  });
}

/** Sends frames in groups until the gateway ends the connection. */
async function flood(peer: FrameSocket, clock: ManualClock, frame: string, count: number): Promise<void> {
  let open = true;
  peer.socket.on("close", () => {
    open = false;
  });
  await until(async () => {
    if (peer.socket.bufferedAmount === 0 && open) for (let at = 0; at < count; at += 1) peer.send(frame);
    clock.advance(100);
    return !open;
  }, "the end of the flood");
}

const sides = [
  ["call", callUrl],
  ["provider", providerUrl],
] as const;

describe.each(sides)("the %s side of the endpoint", (side, urlOf) => {
  it.each([
    ["no token", ""],
    ["an empty token", "?token="],
    ["a token under another name", "?key=tdn_something_else"],
    ["an unknown token", "?token=tdn_no_such_token"],
    ["a JWT of a hosted service", "?token=eyJhbGciOiJFUzI1NiJ9.eyJhZ2VudElkIjoxfQ.c2ln"],
    ["an AES token without the compatibility key", "?token=jcNAFQ5bY1XfKGVsNIGAGg%3D%3D"],
  ])("[END-10] refuses %s with 401 at the upgrade", async (_name, query) => {
    const site = await open();
    const url = urlOf(site, "").replace("?token=", query);
    expect(await refusal(url)).toBe(401);
  });

  it("[END-10] counts missing, unknown and unsuitable tokens against the address", async () => {
    const site = await open({ failedSignIns: { perSecond: 0.001, burst: 3 } });
    const admin = await makeToken(site, "person", ["endpoint", "read", "call", "admin"]);
    const good = await makeToken(site);
    const statuses: number[] = [];
    for (const token of ["", "tdn_unknown_token", admin, admin, good])
      statuses.push(await refusal(urlOf(site, token)));
    // A valid token must wait too, so that guessing reveals nothing.
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
  });

  it("[END-10] takes at most 250 connections of one token and 750 of one address", async () => {
    const site = await open({ principal: plenty, address: plenty });
    const tokens = [];
    for (const name of ["one", "two", "three", "four"]) tokens.push(await makeToken(site, name));
    const peers: FrameSocket[] = [];
    for (const token of tokens.slice(0, 3)) {
      for (let count = 0; count < 250; count += 10)
        peers.push(...(await Promise.all(Array.from({ length: 10 }, () => dial(urlOf(site, token))))));
      expect(await refusal(urlOf(site, token))).toBe(429);
    }
    expect(await refusal(urlOf(site, tokens[3] ?? ""))).toBe(429);
    const metric = `tendon_endpoint_connections{side="${side === "call" ? "agent" : "provider"}"}`;
    expect(await site.metric(metric)).toBe(750);
    for (const { socket } of peers) socket.terminate();
    await until(async () => (await site.metric(metric)) === 0, "the end of all");
    await dial(urlOf(site, tokens[3] ?? ""));
  });

  it("[END-10] shows the token in no answer and no log line, also of a request that is no upgrade", async () => {
    const site = await open();
    const token = await makeToken(site);
    secretWatch.keep(token, "a token in an address");
    const { texts } = secretWatch.seen;
    const path = new URL(urlOf(site, token)).pathname;
    for (const method of ["GET", "POST", "OPTIONS"]) {
      const { status, text } = await askAll(site.url, { method, path: `${path}?token=${token}` });
      expect([status, text.includes(token)]).toEqual([404, false]);
    }
    expect(await refusal(urlOf(site, `${token}x`))).toBe(401);
    const peer = await dial(urlOf(site, token));
    peer.socket.close(1000, `a reason with ${token}`);
    await peer.closed();
    for (const at of ["/audit", "/endpoints", "/events/recent", "/settings"])
      expect((await site.rest("GET", at)).text).not.toContain(token);
    expect(secretWatch.seen.texts).toBeGreaterThan(texts);
  });
});

describe("a voice server that dials in", () => {
  async function talk(clock: ManualClock) {
    const site = await open({}, clock);
    const device = await site.join({ tools: [tool("self.lamp.on")] });
    const peer = await dial(callUrl(site, await makeToken(site)));
    await peer.ask(hosted.initialize);
    const { result } = await peer.ask(hosted.list);
    const names = (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
    return { site, device, peer, lamp: names.find((name) => name.endsWith("__lamp_on")) ?? "" };
  }

  it("[END-10] hears of a call that takes too long after 28 s, before it gives up itself", async () => {
    const clock = new ManualClock(Date.now());
    const { peer, device, lamp } = await talk(clock);
    peer.send(callFrame(3, lamp));
    const late = await device.nextRequest("tools/call");
    clock.advance(27_999);
    expect(await peer.ask(hosted.ping)).toMatchObject({ id: 2 });
    clock.advance(1);
    const { id, result } = await peer.next();
    expect([id, (result as Fields)["isError"]]).toEqual([3, true]);
    expect((result as Fields)["error"]).toMatch(/^device_timeout: /);
    device.reply(late.id, textContent("on"));
    const longer = { device: "02:00:00:00:00:01", tool: "self.lamp.on", timeoutMs: 120_000 };
    peer.send(callFrame(4, "device_call", longer));
    await device.nextRequest("tools/call");
    clock.advance(28_000);
    expect(((await peer.next())["result"] as Fields)["error"]).toMatch(/^device_timeout: /);
    peer.send(callFrame(5, "events_wait", { types: ["device.online"], timeoutMs: 45_000 }));
    await until(() => clock.requested.at(-1) === 28_000, "the wait");
    clock.advance(28_000);
    expect(await peer.next()).toMatchObject({ id: 5, result: { isError: false } });
  });

  it("[END-10] hears how to queue a call for a device that is away, and gets the call's id", async () => {
    const clock = new ManualClock(Date.now());
    const { site, peer, device, lamp } = await talk(clock);
    device.cut();
    await until(async () => (await site.device(device.id))["online"] === false, "offline");
    const { result } = await peer.ask(callFrame(3, lamp));
    expect((result as Fields)["error"]).toMatch(/^device_offline: .*when_offline/s);
    const asked = { device: device.id, tool: "self.lamp.on", arguments: {}, when_offline: "queue" };
    const queued = (await peer.ask(callFrame(4, "device_call", asked)))["result"] as Fields;
    expect(queued["isError"]).toBe(false);
    const [{ text }] = queued["content"] as [{ text: string }];
    const { body } = await site.rest("GET", "/calls?state=queued");
    const [{ callId }] = body["calls"] as [{ callId: string }];
    expect(text).toContain(callId);
  });

  it("[END-6] is disconnected when it answers no ping, so that it takes no place for ever", async () => {
    const clock = new ManualClock(Date.now());
    const site = await open({}, clock);
    const token = await makeToken(site);
    const [silent, living] = [
      await dial(callUrl(site, token), { pongs: false }),
      await dial(callUrl(site, token)),
    ];
    await silent.ask(hosted.initialize);
    await living.ask(hosted.initialize);
    for (let pings = 0; pings < 2; pings += 1) {
      const pinged = new Promise((resolve) => living.socket.once("ping", resolve));
      clock.advance(30_000);
      await pinged;
      // The pong is on its way before this.
      await living.ask(hosted.ping);
    }
    expect((await silent.closed()).code).toBe(1006);
    expect(await living.ask(hosted.ping)).toMatchObject({ id: 2, result: {} });
  });

  it("[END-2] gets an answer to a ping while 64 of its requests are open, and a refusal of the next", async () => {
    const clock = new ManualClock(Date.now());
    const { peer, lamp } = await talk(clock);
    for (let id = 100; id < 164; id += 1) peer.send(callFrame(id, lamp));
    const frames = [];
    peer.send(callFrame(164, lamp));
    peer.send(hosted.ping);
    for (;;) {
      const frame = await peer.next();
      if (frame["id"] === 2) break;
      frames.push(frame);
    }
    const [refused] = frames.filter(({ id }) => id === 164).map(({ result }) => result as Fields);
    expect(refused?.["error"]).toMatch(/^rate_limited: /);
  });

  it("[END-2] is slowed down and then disconnected when it floods the gateway", async () => {
    const clock = new ManualClock(Date.now());
    const { site, peer } = await talk(clock);
    await flood(peer, clock, "noise", 3_000);
    expect(await peer.closed()).toEqual({ code: 1008, reason: "too many messages" });
    expect((await site.rest("GET", "/devices")).status).toBe(200);
  });
});

describe("a tool provider that floods the gateway", () => {
  it.each([
    ["with prints", "noise\n"],
    ["with messages", '{"jsonrpc":"2.0","method":"notifications/noise"}\n'],
  ])("[END-12] is slowed down and then disconnected: %s", async (_name, frame) => {
    const clock = new ManualClock(Date.now());
    const site = await open({}, clock);
    const peer = await provide(site, await makeToken(site), "calculator");
    await flood(peer, clock, frame, 3_000);
    expect(await peer.closed()).toMatchObject({ code: 1008, reason: "the provider sends too many messages" });
  });

  it("[END-12] of 1 MiB prints, too", async () => {
    const clock = new ManualClock(Date.now());
    const site = await open({}, clock);
    const peer = await provide(site, await makeToken(site), "calculator");
    await flood(peer, clock, "x".repeat(1_000_000), 8);
    expect((await peer.closed()).reason).toBe("the provider sends too many bytes");
  });
});

describe("the health address", () => {
  const key = "a-key-for-health";

  it.each([
    ["without a key", "", key],
    ["with an empty key", "?key=", key],
    ["with a part of the key", "?key=a-key", key],
    ["with a longer key", `?key=${key}x`, key],
    ["with the key twice", `?key=${key}&key=${key}`, key],
    ["when no key is set", "?key=undefined", undefined],
  ])("[END-13] answers 200 with the wrong-key body %s", async (_name, query, healthKey) => {
    secretWatch.keep(key, "the key of the health address");
    const site = await openSite({
      config: { endpoint: { enabled: true, ...(healthKey === undefined ? {} : { healthKey }) } },
    });
    const { status, body } = await askAll(site.url, { path: `/mcp_endpoint/health${query}` });
    expect([status, body]).toEqual([
      200,
      {
        result: null,
        error: { code: -32004, message: "密钥验证失败", data: { details: "提供的密钥无效或缺失" } },
        id: null,
        jsonrpc: "2.0",
      },
    ]);
  });

  it("[END-13] counts providers and voice servers, by agent", async () => {
    secretWatch.keep(key, "the key of the health address");
    const site = await openSite({ config: { endpoint: { enabled: true, healthKey: key } } });
    const token = await makeToken(site);
    await provide(site, token, "calculator");
    for (let count = 0; count < 2; count += 1)
      await (await dial(callUrl(site, token))).ask(hosted.initialize);
    const { text } = await askAll(site.url, { path: `/mcp_endpoint/health?key=${key}` });
    expect(text).toBe(
      '{"result":{"status":"success","connections":{"tool_connections":1,"robot_connections":2,"total_connections":3,"robot_connections_by_agent":{"house":2}}},"error":null,"id":null,"jsonrpc":"2.0"}',
    );
  });

  it("[END-13] takes no key from an address that has guessed too often, unless it had the right one before", async () => {
    secretWatch.keep(key, "the key of the health address");
    const opened = async () =>
      await openSite({
        config: {
          endpoint: { enabled: true, healthKey: key },
          limits: { failedSignIns: { perSecond: 0.001, burst: 2 } },
        },
      });
    const knows = async (site: Site, ...keys: string[]) => {
      const found: boolean[] = [];
      for (const each of keys) {
        const { status, body } = await askAll(site.url, { path: `/mcp_endpoint/health?key=${each}` });
        expect(status).toBe(200);
        found.push(body["error"] === null);
      }
      return found;
    };
    expect(await knows(await opened(), "guess-1", "guess-2", key)).toEqual([false, false, false]);
    expect(await knows(await opened(), key, "guess-1", "guess-2", key)).toEqual([true, false, false, true]);
  });
});

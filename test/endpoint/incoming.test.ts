import { createCipheriv } from "node:crypto";
import { describe, expect, it } from "vitest";
import { askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type Fields, textContent, tool } from "../raw-device.ts";
import { openSite, type Site, type SiteOptions } from "../site.ts";
import { dial, hosted, refusal } from "./frames.ts";
import { answer, makeToken, online, provide, providerUrl } from "./provider.ts";

const all = ["endpoint", "read", "call"];

async function open(endpoint: Fields = {}, more: SiteOptions = {}): Promise<Site> {
  return await openSite({ ...more, config: { endpoint: { enabled: true, ...endpoint } } });
}

const callUrl = (site: Site, token: string) => `${site.url}/mcp_endpoint/call/?token=${token}`;

describe("the call side of the endpoint", () => {
  it("[END-10] takes a voice server that pipelines, and shows the fleet and the providers in one list", async () => {
    const site = await open();
    await site.join({ tools: [tool("self.lamp.on")] });
    const token = await makeToken(site);
    await provide(site, token, "Calculator");
    await online(site, "calculator");
    const peer = await dial(callUrl(site, token));
    peer.send({ ...hosted.initialize, id: 1 });
    peer.send(hosted.initialized);
    peer.send({ ...hosted.list, id: 2 });
    expect(await peer.next()).toMatchObject({ id: 1, result: { protocolVersion: "2024-11-05" } });
    const { id, result } = await peer.next();
    const names = ((result as Fields)["tools"] as Fields[]).map(({ name }) => String(name));
    expect([id, names.includes("calculator__add"), names.some((name) => name.endsWith("__lamp_on"))]).toEqual(
      [2, true, true],
    );
    const { body } = await site.rest("GET", "/endpoints");
    expect(body["incoming"]).toMatchObject({
      enabled: true,
      callers: [{ token: "house", client: "xz-mcp-broker 0.0.1", tools: names.length }],
      providers: [{ token: "house", device: "calculator" }],
    });
  });

  it("[END-10] lets a limited token use its own devices and its own providers only", async () => {
    const site = await open();
    await site.join({ tools: [tool("self.lamp.on")] });
    const token = await makeToken(site, "limited", all, { devices: { tags: ["none"] } });
    const other = await makeToken(site, "other");
    await provide(site, token, "mine");
    await provide(site, other, "theirs");
    await online(site, "mine");
    await online(site, "theirs");
    const peer = await dial(callUrl(site, token));
    await peer.ask(hosted.initialize);
    const { result } = await peer.ask(hosted.list);
    const names = ((result as Fields)["tools"] as Fields[]).map(({ name }) => String(name));
    expect(names.filter((name) => name.includes("__"))).toEqual(["mine__add"]);
  });

  it.each([
    ["an unknown token", ["wrong"], 401],
    ["the admin scope", ["endpoint", "read", "call", "admin"], 401],
    ["user-only tools", ["endpoint", "read", "call", "call:user"], 401],
    ["no endpoint scope", ["read", "call"], 401],
  ])("[END-10] refuses a token with %s at the upgrade", async (_name, scopes, status) => {
    const site = await open();
    const token = scopes[0] === "wrong" ? "tdn_wrong" : await makeToken(site, "a", scopes as string[]);
    expect([await refusal(callUrl(site, token)), await refusal(providerUrl(site, token))]).toEqual([
      status,
      status,
    ]);
  });

  it("[END-10] needs read and call on the call side, closes with the token, and is off by default", async () => {
    const site = await open();
    const bare = await makeToken(site, "bare", ["endpoint"]);
    expect(await refusal(callUrl(site, bare))).toBe(403);
    const { body } = await site.rest("POST", "/tokens", { name: "short", scopes: all });
    const caller = await dial(callUrl(site, String(body["token"])));
    await caller.ask(hosted.initialize);
    const provider = await dial(providerUrl(site, String(body["token"])));
    await site.rest("DELETE", `/tokens/${String(body["id"])}`);
    expect([(await caller.closed()).code, (await provider.closed()).code]).toEqual([1000, 1008]);
    const off = await openSite();
    expect(await refusal(callUrl(off, await makeToken(off)))).toBe(404);
  });

  it("[END-10] throttles guesses by address", async () => {
    const site = await openSite({
      config: { endpoint: { enabled: true }, limits: { failedSignIns: { perSecond: 0.001, burst: 2 } } },
    });
    const statuses: number[] = [];
    for (let guess = 0; guess < 4; guess += 1)
      statuses.push(await refusal(callUrl(site, `tdn_guess${guess}`)));
    expect(statuses).toEqual([401, 401, 429, 429]);
  });
});

describe("the provider side of the endpoint", () => {
  it("[END-11] makes one device for each token and server name, with stable ids", async () => {
    const site = await open();
    const [one, two] = [await makeToken(site, "one"), await makeToken(site, "two")];
    const names = [
      [one, "My Calculator!", "my-calculator"],
      [one, "Weather", "weather"],
      [two, "My Calculator!", "my-calculator-2"],
      [two, "天气", "provider"],
    ] as const;
    for (const [token, name, id] of names) {
      const peer = await provide(site, token, name);
      expect(await online(site, id)).toMatchObject({
        id,
        alias: id,
        kind: "endpoint",
        transport: "endpoint",
        board: name,
      });
      peer.socket.close();
      await until(async () => (await site.device(id))["online"] === false, "offline");
      await provide(site, token, name);
      await online(site, id);
    }
    const { body } = await site.rest("GET", "/devices");
    expect((body["devices"] as Fields[]).map(({ id }) => id).sort()).toEqual(
      names.map(([, , id]) => id).sort(),
    );
  });

  it("[END-12] calls a provider, ignores what it prints, and fails the call when it leaves", async () => {
    const site = await open();
    const token = await makeToken(site);
    const peer = await provide(site, token, "calculator");
    await online(site, "calculator");
    const called = site.call("calculator", "add", { a: 1 });
    const call = await peer.next();
    expect(call).toMatchObject({ method: "tools/call", params: { name: "add", arguments: { a: 1 } } });
    peer.send("Traceback (most recent call last):\n");
    answer(peer, call, { content: textContent("3")["content"], isError: false });
    expect((await called).body["result"]).toMatchObject({ content: [{ type: "text", text: "3" }] });
    expect(await site.metric('tendon_endpoint_frames_ignored_total{side="provider"}')).toBe(2);
    const failed = site.call("calculator", "add", {});
    await peer.next();
    peer.socket.terminate();
    expect((await failed).body).toMatchObject({ code: "device_disconnected", sent: true });
  });

  it("[END-12] finds a dead program by ping, and closes its socket so that the pipe restarts it", async () => {
    const clock = new ManualClock(Date.now());
    const site = await open({}, { clock });
    const peer = await provide(site, await makeToken(site), "calculator");
    await online(site, "calculator");
    clock.advance(30_000);
    const ping = await peer.next();
    expect(ping["method"]).toBe("ping");
    answer(peer, ping, {});
    await until(async () => (await site.device("calculator"))["online"] === true);
    for (let tick = 0; tick < 4; tick += 1) clock.advance(30_000);
    expect((await peer.closed()).code).toBe(1011);
    expect((await site.device("calculator"))["online"]).toBe(false);
  });

  it("[END-11] deletes a provider on request; it comes back under its id", async () => {
    const site = await open();
    const token = await makeToken(site);
    const peer = await provide(site, token, "calculator");
    await online(site, "calculator");
    expect((await site.rest("DELETE", "/devices/calculator")).status).toBe(204);
    await peer.closed();
    await provide(site, token, "calculator");
    await online(site, "calculator");
    expect((await site.rest("POST", "/devices/calculator/revoke")).body["code"]).toBe("conflict");
  });
});

describe("the endpoint server's other promises", () => {
  it("[END-13] answers health with exactly the body that voice servers read", async () => {
    const site = await open({ healthKey: "a-key-for-health" });
    const health = async (key: string) => await askAll(site.url, { path: `/mcp_endpoint/health?key=${key}` });
    expect((await health("a-key-for-health")).text).toBe(
      '{"result":{"status":"success","connections":{"tool_connections":0,"robot_connections":0,"total_connections":0,"robot_connections_by_agent":{}}},"error":null,"id":null,"jsonrpc":"2.0"}',
    );
    const token = await makeToken(site);
    const peer = await dial(callUrl(site, token));
    await peer.ask(hosted.initialize);
    const connections = ((await health("a-key-for-health")).body["result"] as Fields)["connections"];
    expect(connections).toMatchObject({ robot_connections: 1, robot_connections_by_agent: { house: 1 } });
    for (const key of ["wrong", "", "a-key-for-healt"]) {
      const { status, body } = await health(key);
      expect([status, body["result"], (body["error"] as Fields)["code"]]).toEqual([200, null, -32004]);
    }
    const unset = await open();
    const { body } = await askAll(unset.url, { path: "/mcp_endpoint/health?key=undefined" });
    expect((body["error"] as Fields)["code"]).toBe(-32004);
  });

  it.each([
    ["padded to 32 bytes", "short-key"],
    ["of 16 bytes", "0123456789abcdef"],
    ["of 32 bytes", "0123456789abcdef0123456789abcdef"],
  ])("[END-13] takes AES tokens under endpoint.compatibility, with a key %s", async (_name, key) => {
    const bytes = [16, 24, 32].includes(key.length)
      ? Buffer.from(key)
      : Buffer.concat([Buffer.from(key), Buffer.alloc(32)], 32);
    const cipher = createCipheriv(`aes-${bytes.byteLength * 8}-ecb`, bytes, null);
    const sealed = Buffer.concat([cipher.update('{"agentId":"single_module"}'), cipher.final()]).toString(
      "base64",
    );
    const site = await open({ compatibility: { key, token: "old" } });
    expect(await refusal(callUrl(site, encodeURIComponent(sealed)))).toBe(401);
    await makeToken(site, "old");
    for (const text of [encodeURIComponent(sealed), sealed]) {
      const peer = await dial(callUrl(site, text));
      expect(await peer.ask(hosted.initialize)).toMatchObject({ id: 0, result: {} });
    }
    expect(await refusal(callUrl(site, encodeURIComponent("AAAAAAAAAAAAAAAAAAAAAA==")))).toBe(401);
    const strict = await open();
    await makeToken(strict, "old");
    expect(await refusal(callUrl(strict, encodeURIComponent(sealed)))).toBe(401);
  });
});

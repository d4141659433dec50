/** What a voice agent says about the board that it talks with, in the stored history [END-3]. */
import { describe, expect, it } from "vitest";
import { run } from "../../packages/cli/test/run-tendon.ts";
import { Engines } from "../cluster/nodes.ts";
import { askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import { type Fields, textContent, tool } from "../raw-device.ts";
import { RestartingGateway } from "../restarting-gateway.ts";
import { adminToken, firstDevice, openSite, type Site } from "../site.ts";
import { Broker, callFrame, type FrameSocket, hosted } from "./frames.ts";

const asking = "02:00:00:00:00:02";
const clientId = "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a01";
const vendor = { serialNumber: asking, clientId };
const asker = { device: asking, serialNumber: asking, clientId: "8d0f1c52…", agentId: "1000001" };
const lamp = { tools: [tool("self.lamp.on")] };
const voice = { name: "voice", scopes: ["read", "call"] };

interface Asked {
  rest(method: string, path: string, body?: unknown): ReturnType<Site["rest"]>;
}

function settings(broker: Broker) {
  return { agents: { endpoints: [{ url: broker.url("a-token-of-the-agent"), token: "voice" }] } };
}

async function greeted(broker: Broker): Promise<FrameSocket> {
  const peer = await broker.arrival();
  await peer.ask(hosted.initialize);
  peer.send(hosted.initialized);
  return peer;
}

function callLamp(peer: FrameSocket, more: Fields = {}, about: Fields = vendor): Promise<Fields> {
  const args = { device: firstDevice, tool: "self.lamp.on", arguments: {}, ...more };
  return peer.ask(callFrame(7, "device_call", args, about));
}

async function voiceCall(gateway: Asked): Promise<Fields> {
  return await until(async () => {
    const { body } = await gateway.rest("GET", "/calls?principal=voice");
    return (body["calls"] as Fields[])[0];
  }, "the call in the history");
}

async function trace(gateway: Asked, call: Fields): Promise<Fields> {
  return (await gateway.rest("GET", `/calls/${String(call["callId"])}`)).body;
}

describe("the history of a call over an outgoing endpoint", () => {
  it("[END-3] names the board that asks, also after a restart, in lists, traces and files", async () => {
    const broker = await Broker.open();
    const gateway = await RestartingGateway.start(settings(broker));
    await gateway.join(asking);
    const device = await gateway.join(firstDevice, lamp);
    await gateway.rest("POST", "/tokens", voice);
    const answered = callLamp(await greeted(broker));
    device.reply((await device.nextRequest("tools/call")).id, textContent("on"));
    await answered;
    await gateway.restart();
    const call = await voiceCall(gateway);
    expect(call["asker"]).toEqual(asker);
    const shown = await trace(gateway, call);
    expect(shown["origin"]).toEqual({ via: "endpoint", asker });
    expect(shown).not.toHaveProperty("asker");
    const { text } = await gateway.rest("GET", "/calls?principal=voice", undefined, undefined, {
      accept: "text/csv",
    });
    const [head, row] = text.split("\r\n");
    expect(head).toMatch(/,approval,asker$/);
    expect(row).toContain(`,"${JSON.stringify(asker).replaceAll('"', '""')}"`);
    expect(text).not.toContain(clientId);
  });

  it("[END-3] keeps it for a queued call, while it waits and when it has ended", async () => {
    const broker = await Broker.open();
    const gateway = await RestartingGateway.start(settings(broker));
    await gateway.join(asking);
    (await gateway.join(firstDevice, lamp)).cut();
    await until(async () => (await gateway.rest("GET", `/devices/${firstDevice}`)).body["online"] === false);
    await gateway.rest("POST", "/tokens", voice);
    await callLamp(await greeted(broker), { when_offline: "queue" });
    await gateway.restart();
    const { body } = await gateway.rest("GET", "/calls?state=queued");
    const [queued = {}] = body["calls"] as Fields[];
    expect(queued["asker"]).toEqual(asker);
    expect((await trace(gateway, queued))["origin"]).toMatchObject({ asker });
    const device = await gateway.join(firstDevice, lamp);
    device.reply((await device.nextRequest("tools/call")).id, textContent("on"));
    expect((await voiceCall(gateway))["asker"]).toEqual(asker);
  });

  it("[END-3] bounds what an agent sends, and stores no other type", async () => {
    const broker = await Broker.open();
    const site = await openSite({ config: settings(broker) });
    await site.join(lamp);
    await site.rest("POST", "/tokens", voice);
    const hostile = {
      serialNumber: `\u0000\u202e"${"x".repeat(100_000)}`,
      clientId: { a: 1 },
      agentId: ["b"],
    };
    await callLamp(await greeted(broker), { tool: "missing" }, hostile);
    const { asker: kept } = await voiceCall(site);
    expect(kept).toEqual({ serialNumber: expect.stringMatching(/^"x{62}…$/) });
  });

  it("[END-3] shows a board only to those who may see it", async () => {
    const broker = await Broker.open();
    const site = await openSite({ config: settings(broker) });
    await site.join(lamp);
    await site.join({ deviceId: asking });
    await site.rest("POST", "/tokens", voice);
    await callLamp(await greeted(broker), { tool: "missing" });
    const call = await voiceCall(site);
    const reader = { name: "reader", scopes: ["read"], devices: { ids: [firstDevice] } };
    const { token } = (await site.rest("POST", "/tokens", reader)).body;
    for (const path of ["/calls", `/calls/${String(call["callId"])}`]) {
      const headers = { authorization: `Bearer ${String(token)}` };
      const { text, status } = await askAll(site.url, { path: `/api/v1${path}`, headers });
      expect([status, text.includes(firstDevice), text.includes(asking)]).toEqual([200, true, false]);
    }
  });

  it("[END-3] names an imported board by its serial number, which goes with the board", async () => {
    const broker = await Broker.open();
    const site = await openSite({ config: settings(broker) });
    await site.rest("POST", "/devices/import", { devices: [{ id: asking, serial: "SN-7" }] });
    await site.join(lamp);
    await site.join({ deviceId: asking });
    await site.rest("POST", "/tokens", voice);
    const peer = await greeted(broker);
    await callLamp(peer, { tool: "missing" }, { serialNumber: "SN-7" });
    expect((await voiceCall(site))["asker"]).toMatchObject({ device: asking, serialNumber: "SN-7" });
    expect((await site.rest("DELETE", `/devices/${asking}?history=true`)).status).toBe(204);
    expect((await voiceCall(site))["asker"]).toBeUndefined();
  });

  it("is shown by the command with the alias of the board", async () => {
    const broker = await Broker.open();
    const site = await openSite({ config: settings(broker) });
    await site.join(lamp);
    await site.join({ deviceId: asking });
    await site.rest("PATCH", `/devices/${asking}`, { alias: "kitchen" });
    await site.rest("POST", "/tokens", voice);
    await callLamp(await greeted(broker), { tool: "missing" });
    const { callId } = await voiceCall(site);
    const args = ["calls", "show", String(callId), "--url", site.url];
    const { stdout } = await run(args, { env: { TENDON_TOKEN: adminToken } });
    expect(stdout).toContain(
      `\nasked by kitchen, serial number ${asking}, client 8d0f1c52…, agent 1000001\n`,
    );
  });

  it("[END-3] forgets a board that is deleted with its history, also where it was not named", async () => {
    const broker = await Broker.open();
    const site = await openSite({ config: settings(broker) });
    const device = await site.join(lamp);
    await site.rest("POST", "/tokens", voice);
    const peer = await greeted(broker);
    // The gateway does not know the board yet, so that only its serial number is kept.
    await callLamp(peer, { tool: "missing" });
    await site.join({ deviceId: asking });
    await callLamp(peer, { tool: "missing" });
    await callLamp(peer, { tool: "missing" }, { serialNumber: "another" });
    device.cut();
    await until(async () => (await site.device(firstDevice))["online"] === false);
    const queued = (await callLamp(peer, { when_offline: "queue" }))["result"] as Fields;
    expect(JSON.stringify(queued)).toContain("queued");
    await until(
      async () => (await site.rest("GET", "/calls?principal=voice")).text.split(asking).length >= 4,
    );
    expect((await site.rest("DELETE", `/devices/${asking}?history=true`)).status).toBe(204);
    const { text, body } = await site.rest("GET", "/calls?principal=voice");
    expect(text).not.toContain(asking);
    const calls = body["calls"] as Fields[];
    expect(calls.map(({ asker: kept }) => kept)).toEqual([
      { serialNumber: "another", agentId: "1000001" },
      undefined,
      undefined,
    ]);
    for (const call of calls) expect(JSON.stringify(await trace(site, call))).not.toContain(asking);
    const waiting = await site.rest("GET", "/calls?state=queued");
    expect(waiting.text).not.toContain(asking);
    const [call = {}] = waiting.body["calls"] as Fields[];
    expect((await trace(site, call))["origin"]).toMatchObject({ via: "endpoint" });
    expect(JSON.stringify(await trace(site, call))).not.toContain(asking);
  });
});

describe("in a cluster", () => {
  const engines = new Engines();

  it("[END-3] every node shows the board that asks, wherever the device and the endpoint are", async () => {
    const broker = await Broker.open();
    const fleet = await engines.newFleet();
    const [one, two] = (await fleet.nodes(2, { config: settings(broker) })) as [Site, Site];
    await one.rest("POST", "/tokens", voice);
    const peer = await greeted(broker);
    const { body } = await one.rest("GET", "/endpoints");
    const { node } = (body["endpoints"] as Fields[])[0] ?? {};
    const { body: ready } = await one.rest("GET", "/nodes");
    const here = (ready["nodes"] as Fields[]).find(({ self }) => self === true)?.["id"] === node;
    const device = await (here ? two : one).join(lamp);
    await (here ? two : one).join({ deviceId: asking });
    await until(async () => (await (here ? one : two).device(asking))["online"] === true);
    const answered = callLamp(peer);
    device.reply((await device.nextRequest("tools/call")).id, textContent("on"));
    await answered;
    for (const site of [one, two]) {
      const call = await voiceCall(site);
      expect(call["asker"]).toEqual(asker);
      expect((await trace(site, call))["origin"]).toMatchObject({ via: "endpoint", asker });
    }
  }, 60_000);
});

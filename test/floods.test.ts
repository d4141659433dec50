/** A peer that sends too much is paused, then cut off. The others notice nothing. */
import type { IPublishPacket, Packet } from "mqtt-packet";
import { describe, expect, it } from "vitest";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { MqttApp } from "./mqtt-app.ts";
import { type MqttWire, mqttTransport } from "./mqtt-wire.ts";
import { textContent, tool } from "./raw-device.ts";
import { firstDevice, openSite, type Site } from "./site.ts";
import { stallWatch } from "./stall-watch.ts";
import { deviceHeaders, WebSocketWire } from "./websocket-wire.ts";

const other = "02:00:00:00:00:02";
const refused = 'tendon_connections_refused_total{code="rate_limited"}';
const paused = "tendon_connections_paused_total";

/** A WebSocket client below the level of messages, and a device beside it that must stay usable. */
async function openFlood(clock?: ManualClock) {
  const site = await openSite(clock === undefined ? {} : { clock });
  const beside = await site.join({ deviceId: other, clientId: "beside", tools: [tool("a")] });
  const wire = await WebSocketWire.open(site.url, {
    headers: deviceHeaders({ deviceId: firstDevice, clientId: "flood" }),
  });
  wire.sendText('{"type":"hello"}');
  await until(async () => (await site.device(firstDevice))["online"] === true);
  const works = async () => {
    const answer = site.call(other, "a");
    beside.reply((await beside.nextRequest("tools/call")).id, textContent("yes"));
    expect((await answer).status).toBe(200);
  };
  return { site, wire, works };
}

async function offlineReason(site: Site): Promise<string> {
  const view = await until(async () => {
    const seen = await site.device(firstDevice);
    return seen["online"] === false ? seen : undefined;
  });
  return (view["lastDisconnect"] as { reason: string }).reason;
}

/** Sends a burst, and then more after each pause, until the gateway closes the connection. */
async function expectPausesAndCut(
  site: Site,
  wire: WebSocketWire | MqttWire,
  clock: ManualClock,
  { burst, more }: { burst: () => Promise<void>; more: () => Promise<void> },
): Promise<void> {
  await burst();
  for (let pauses = 1; pauses <= 5; pauses += 1) {
    await until(async () => (await site.metric(paused)) === pauses, `pause ${pauses}`);
    clock.advance(2_000);
    await more();
  }
  await wire.ended;
  expect(await site.metric(paused)).toBe(5);
}

/** Sends in one turn of the event loop: the time that takes is the test's, not the gateway's. */
function times(count: number, send: () => void): () => Promise<void> {
  return () =>
    stallWatch.ownWork(async () => {
      for (let done = 0; done < count; done += 1) send();
    });
}

describe("a flood over WebSocket", () => {
  it("of pings in one piece is cut off, and is hardly answered", async () => {
    const { site, wire, works } = await openFlood();
    let pongs = 0;
    wire.socket.on("pong", () => {
      pongs += 1;
    });
    await times(10_000, () => wire.socket.ping())();
    expect(await wire.ended).toMatchObject({ code: 1008, reason: "the device sends too many frames" });
    expect(pongs).toBeLessThan(2_000);
    expect(await offlineReason(site)).toBe("the device sends too many frames");
    expect(await site.metric(refused)).toBe(1);
    await works();
  });

  it("of pongs that nobody asked for is cut off", async () => {
    const { wire, works } = await openFlood();
    await times(10_000, () => wire.socket.pong())();
    expect(await wire.ended).toMatchObject({ code: 1008, reason: "the device sends too many frames" });
    await works();
  });

  it("of frames above the rate is paused, then cut off", async () => {
    const clock = new ManualClock();
    const { site, wire, works } = await openFlood(clock);
    const send = () => wire.sendText("{}");
    await expectPausesAndCut(site, wire, clock, { burst: times(1_010, send), more: times(420, send) });
    expect(await offlineReason(site)).toBe("the device sends too many frames");
    await works();
  });

  it("of large frames is paused, then cut off", async () => {
    const clock = new ManualClock();
    const { site, wire, works } = await openFlood(clock);
    const frame = JSON.stringify({ type: "custom", payload: "x".repeat(176_000) });
    const send = () => wire.sendText(frame);
    await expectPausesAndCut(site, wire, clock, { burst: times(12, send), more: times(3, send) });
    expect(await offlineReason(site)).toBe("the device sends too many bytes");
    await works();
  });

  it("of empty fragments, which never become a frame, is cut off too", async () => {
    const { site, wire, works } = await openFlood();
    await times(50_000, () => wire.socket.send("", { fin: false }))();
    await wire.ended;
    expect(await offlineReason(site)).toBe("the device violated the WebSocket protocol");
    await works();
  });

  it("makes the device wait before it may come back", async () => {
    const clock = new ManualClock();
    const { site, wire, works } = await openFlood(clock);
    await times(10_000, () => wire.socket.ping())();
    await wire.ended;
    const again = { headers: deviceHeaders({ deviceId: firstDevice, clientId: "flood" }) };
    const refusal = await WebSocketWire.open(site.url, again).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ status: 429, body: expect.stringContaining("rate_limited") });
    await works();
    clock.advance(10_000);
    await WebSocketWire.open(site.url, again);
  });

  it("that ends in time is only paused: nothing is lost", async () => {
    const clock = new ManualClock();
    const { site, wire, works } = await openFlood(clock);
    const events = await site.events("?type=device.notification");
    await times(1_300, () => wire.sendText('{"type":"listen","state":"stop"}'))();
    wire.sendText('{"type":"mcp","payload":{"jsonrpc":"2.0","method":"notifications/last"}}');
    await until(async () => (await site.metric(paused)) === 1, "the pause");
    clock.advance(2_000);
    expect(await events.next()).toMatchObject({
      data: { method: "notifications/last" },
    });
    expect((await site.device(firstDevice))["online"]).toBe(true);
    await works();
  });
});

const pingreq: Packet = { cmd: "pingreq" };
const foreign: IPublishPacket = {
  cmd: "publish",
  topic: "somewhere/else",
  payload: "x",
  qos: 0,
  dup: false,
  retain: false,
};
const subscribe: Packet = { cmd: "subscribe", messageId: 7, subscriptions: [{ topic: "tendon/#", qos: 0 }] };

describe("a flood over MQTT", () => {
  it.each([
    ["PINGREQ", pingreq],
    ["PUBLISH to another topic", foreign],
    ["SUBSCRIBE", subscribe],
  ])("of a device's %s is cut off", async (_, packet) => {
    const site = await openSite();
    const beside = await site.join({ deviceId: other, clientId: "beside", tools: [tool("a")] });
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const wire = device.wire as MqttWire;
    await times(10_000, () => wire.send(packet))();
    await wire.ended;
    expect(await offlineReason(site)).toBe("the device sends too many frames");
    expect(await site.metric(refused)).toBe(1);
    const answer = site.call(other, "a");
    beside.reply((await beside.nextRequest("tools/call")).id, textContent("yes"));
    expect((await answer).status).toBe(200);
  });

  it("makes the device wait before it may come back", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const wire = device.wire as MqttWire;
    await times(10_000, () => wire.send(pingreq))();
    await wire.ended;
    const again = () => site.connect({ transport: mqttTransport });
    await expect(again()).rejects.toThrow("refused with CONNACK 3");
    clock.advance(10_000);
    await again();
  });

  it("above the rate is paused, then cut off", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const wire = device.wire as MqttWire;
    const send = () => wire.send(pingreq);
    await expectPausesAndCut(site, wire, clock, { burst: times(1_010, send), more: times(420, send) });
    expect(await offlineReason(site)).toBe("the device sends too many frames");
  });

  it.each([
    ["PINGREQ", pingreq],
    ["SUBSCRIBE", subscribe],
  ])("of an app's %s is cut off, and its requests are not", async (_, packet) => {
    const site = await openSite();
    const busy = await MqttApp.open(site, { clientId: "busy" });
    await times(2_000, () => busy.publish("tendon/devices/x/call", { tool: "a" }))();
    const app = await MqttApp.open(site, { clientId: "flood" });
    await times(10_000, () => app.wire.send(packet))();
    await app.wire.ended;
    expect(await site.metric(refused)).toBe(1);
    await busy.wire.ping();
  });
});

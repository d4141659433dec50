import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { MqttApp } from "../mqtt-app.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import { firstDevice, openSite, type Site, type SiteOptions } from "../site.ts";

const level = { volume: { type: "integer", minimum: 0, maximum: 100 } };
const speaker = tool("self.audio_speaker.set_volume", level, ["volume"]);
const callTopic = `tendon/devices/${firstDevice}/call`;
const controlTopic = `tendon/devices/${firstDevice}/control`;

async function open(
  tools = [speaker],
  options: SiteOptions = {},
): Promise<{ site: Site; device: RawDevice; app: MqttApp }> {
  const site = await openSite(options);
  const device = await site.join({ transport: mqttTransport, tools });
  const app = await MqttApp.open(site, { clientId: "asker" });
  for (const topic of [callTopic, controlTopic, "tendon/control"]) await app.wire.subscribe(`${topic}/reply`);
  return { site, device, app };
}

async function serve(device: RawDevice, text = "true"): Promise<void> {
  device.reply((await device.nextRequest("tools/call")).id, textContent(text));
}

describe("an app's subscriptions", () => {
  it.each([
    ["tendon/#", 0],
    ["tendon/devices/+/status", 0],
    ["tendon/devices/02:00:00:00:00:01/call/reply", 0],
    ["#", 128],
    ["+/devices/#", 128],
    ["tendon", 128],
    ["Tendon/#", 128],
    ["devices/p2p/#", 128],
    ["device-server", 128],
    ["$SYS/#", 128],
    ["$share/all/tendon/#", 128],
    [`tendon/${"x".repeat(300)}`, 128],
  ])("[APP-1] %s is answered with %i", async (filter, code) => {
    const site = await openSite();
    const app = await MqttApp.open(site);
    expect(await app.wire.subscribe(filter)).toBe(code);
  });

  it.each(["constructor", "__proto__", "toString"])("[APP-1] named %s are unknown", async (filter) => {
    const site = await openSite();
    const app = await MqttApp.open(site);
    expect(await app.wire.subscribe(filter)).toBe(128);
    app.wire.send({ cmd: "unsubscribe", messageId: 9, unsubscriptions: [filter] });
    await app.wire.nextPacket("unsuback");
    expect(await app.wire.subscribe("tendon/#")).toBe(0);
  });

  it("[APP-1] are limited to a hundred; unsubscribing makes room", async () => {
    const site = await openSite();
    const app = await MqttApp.open(site);
    for (let index = 0; index < 100; index += 1) {
      expect(await app.wire.subscribe(`tendon/devices/${index}/status`)).toBe(0);
    }
    expect(await app.wire.subscribe("tendon/devices/100/status")).toBe(128);
    expect(await app.wire.subscribe("tendon/devices/0/status")).toBe(0);
    app.wire.send({ cmd: "unsubscribe", messageId: 9, unsubscriptions: ["tendon/devices/1/status"] });
    await app.wire.nextPacket("unsuback");
    expect(await app.wire.subscribe("tendon/devices/100/status")).toBe(0);
  });
});

describe("a call over MQTT", () => {
  it.each(["r1", 7, 0, ""])("[APP-3] is answered with its request_id %j", async (request_id) => {
    const { device, app } = await open();
    app.publish(callTopic, { request_id, tool: speaker.name, arguments: { volume: 5 } });
    const { id, params } = await device.nextRequest("tools/call");
    expect(params).toEqual({ name: speaker.name, arguments: { volume: 5 } });
    device.reply(id, textContent("true"));
    expect(await app.next(`${callTopic}/reply`)).toMatchObject({
      request_id,
      ok: true,
      result: textContent("true"),
    });
  });

  const malformed: readonly [string, string, string, Record<string, unknown>][] = [
    ["no JSON", "not json", "bad_request", { request_id: null }],
    ["nothing", "", "bad_request", { request_id: null }],
    ["a list", "[1]", "bad_request", { request_id: null }],
    ["no tool", '{"request_id":"r"}', "bad_request", { request_id: "r" }],
    ["an empty tool", '{"request_id":"r","tool":""}', "bad_request", { request_id: "r" }],
    ["a tool that is a number", '{"request_id":"r","tool":5}', "bad_request", { request_id: "r" }],
    [
      "arguments in a list",
      '{"request_id":"r","tool":"a","arguments":[]}',
      "bad_request",
      { request_id: "r" },
    ],
    [
      "arguments as text",
      '{"request_id":"r","tool":"a","arguments":"{}"}',
      "bad_request",
      { request_id: "r" },
    ],
    [
      "a timeout as text",
      '{"request_id":"r","tool":"a","timeoutMs":"5"}',
      "bad_request",
      { request_id: "r" },
    ],
    ["a timeout of 0", '{"request_id":"r","tool":"a","timeoutMs":0}', "bad_request", { request_id: "r" }],
    [
      "a timeout too long",
      '{"request_id":"r","tool":"a","timeoutMs":300001}',
      "bad_request",
      { request_id: "r" },
    ],
    ["a request_id that is an object", '{"request_id":{},"tool":"a"}', "tool_unknown", { request_id: null }],
    ["an unknown tool", '{"request_id":"r","tool":"unknown.tool"}', "tool_unknown", { request_id: "r" }],
    [
      "arguments that do not fit",
      `{"request_id":"r","tool":"${speaker.name}"}`,
      "arguments_invalid",
      { request_id: "r" },
    ],
    [
      "JSON nested too deep",
      `{"tool":"a","arguments":${"[".repeat(5_000)}${"]".repeat(5_000)}}`,
      "bad_request",
      {},
    ],
  ];
  it.each(malformed)(
    "[APP-3] with %s is rejected, and the app stays connected",
    async (_, text, code, more) => {
      const { device, app } = await open();
      const answer = await app.ask(callTopic, text);
      expect(answer).toMatchObject({ ok: false, ...more, error: { code, title: expect.any(String) } });
      expect(await device.quiet()).toEqual([]);
      await app.wire.ping();
    },
  );

  it("[APP-3] that is too large is rejected", async () => {
    const { app } = await open();
    expect(await app.ask(callTopic, `{"tool":"${"x".repeat(257 * 1024)}"}`)).toMatchObject({
      ok: false,
      error: { code: "payload_too_large" },
    });
    const pad = "x".repeat(65 * 1024);
    const answer = await app.ask(callTopic, { tool: speaker.name, arguments: { volume: 1, pad } });
    expect(answer).toMatchObject({ ok: false, error: { code: "payload_too_large" } });
  });

  it("[APP-3] handles unknown devices, offline devices and other spellings of an id", async () => {
    const { site, device, app } = await open();
    await app.wire.subscribe("tendon/devices/+/call/reply");
    const unknown = await app.ask("tendon/devices/02:00:00:00:00:99/call", { request_id: 1, tool: "a" });
    expect(unknown).toMatchObject({ ok: false, error: { code: "device_unknown", status: 404 } });
    const running = app.ask("tendon/devices/02-00-00-00-00-01/call", {
      request_id: 2,
      tool: speaker.name,
      arguments: { volume: 0 },
    });
    await serve(device);
    expect(await running).toMatchObject({ request_id: 2, ok: true });
    device.cut();
    await until(async () => (await site.device(device.id))["online"] === false);
    const gone = await app.ask(callTopic, { request_id: 3, tool: speaker.name, arguments: { volume: 1 } });
    expect(gone).toMatchObject({ request_id: 3, ok: false, error: { code: "device_offline" } });
  });

  it.each([
    ["a name that no reply's topic could hold", "x".repeat(65_535 - "tendon/devices//call".length)],
    ["a control character in it", "02:00\u0001:00"],
  ])("[APP-3] on a topic with %s is ignored, and the app stays connected", async (_, name) => {
    const { app } = await open();
    await app.wire.subscribe("tendon/devices/+/call/reply");
    app.publish(`tendon/devices/${name}/call`, { request_id: "lost", tool: "a" });
    expect(await app.ask(callTopic, { request_id: "next", tool: "unknown.tool" })).toMatchObject({
      request_id: "next",
    });
    expect(app.wire.messages).toHaveLength(1);
    await app.wire.ping();
  });

  it("[APP-3] [CALL-9] returns its own timeout and the device's error as such", async () => {
    const once = tool("self.ring");
    const { device, app } = await open([speaker, once]);
    app.publish(callTopic, { request_id: "e", tool: speaker.name, arguments: { volume: 1 } });
    device.refuse((await device.nextRequest("tools/call")).id, "the speaker is broken");
    expect(await app.next(`${callTopic}/reply`)).toMatchObject({
      request_id: "e",
      error: { code: "device_error", detail: "the speaker is broken" },
    });
    app.publish(callTopic, { request_id: "t", tool: speaker.name, arguments: { volume: 1 }, timeoutMs: 200 });
    await device.nextRequest("tools/call");
    expect(await app.next(`${callTopic}/reply`)).toMatchObject({
      request_id: "t",
      error: { code: "device_timeout", retryable: true },
    });
    app.publish(callTopic, { request_id: "u", tool: once.name, timeoutMs: 200 });
    await device.nextRequest("tools/call");
    expect(await app.next(`${callTopic}/reply`)).toMatchObject({
      request_id: "u",
      error: { code: "device_timeout", sent: true, retryable: false },
    });
  });
});

describe("device_control over MQTT", () => {
  it("[APP-2] on the device's topic and on the common one, by id, alias and session", async () => {
    const { site, device, app } = await open([speaker], { clock: new ManualClock() });
    const { alias } = await site.device(device.id);
    const message = { type: "device_control", action: "set_volume", volume: 30 };
    // The session id from the gateway's hello.
    device.send({ type: "hello", version: 3, transport: "udp", features: { mcp: true } });
    const { session_id } = await device.nextFrame("hello");
    await device.nextFrame("alert");
    await device.setUp({ tools: [speaker] });
    const asks: [string, Record<string, unknown>][] = [
      [controlTopic, {}],
      ["tendon/control", { device: device.id }],
      ["tendon/control", { device: alias }],
      ["tendon/control", { session_id }],
      // The topic selects the device, not the message.
      [controlTopic, { device: "02:00:00:00:00:99", session_id: "of-another" }],
    ];
    for (const [index, [topic, more]] of asks.entries()) {
      app.publish(topic, { ...message, ...more, request_id: `r${index}` });
      await serve(device);
      expect(await app.next(`${topic}/reply`)).toMatchObject({
        type: "device_control_response",
        request_id: `r${index}`,
        action: "set_volume",
        tools: [speaker.name],
        ok: true,
      });
    }
  });

  it.each([
    ["no JSON", "tendon/control", "not json", "bad_request"],
    ["a list", controlTopic, "[]", "bad_request"],
    ["neither action nor function", controlTopic, '{"request_id":"r"}', "bad_request"],
    ["both", controlTopic, '{"action":"mute","function_call":{"name":"x"}}', "bad_request"],
    ["another type", controlTopic, '{"type":"mcp","action":"mute"}', "bad_request"],
    ["an action that is a number", controlTopic, '{"action":5}', "bad_request"],
    ["an unknown action", controlTopic, '{"action":"explode"}', "action_unknown"],
    ["no device", "tendon/control", '{"action":"mute"}', "device_unknown"],
    ["an unknown session", "tendon/control", '{"action":"mute","session_id":"x"}', "device_unknown"],
    ["an empty session", "tendon/control", '{"action":"mute","session_id":""}', "device_unknown"],
    ["an unknown device", "tendon/control", '{"action":"mute","device":"unknown"}', "device_unknown"],
  ])("[CTL-4] with %s is answered once, with a code and a request_id", async (_, topic, text, code) => {
    const { device, app } = await open();
    const given = text.includes('"r"') ? "r" : expect.stringMatching(/^req_\d+$/);
    expect(await app.ask(topic, text)).toMatchObject({
      type: "device_control_response",
      request_id: given,
      ok: false,
      tools: [],
      code,
      title: expect.any(String),
      detail: expect.any(String),
    });
    await app.ask(topic, '{"action":"explode","device":"x"}');
    expect(app.on(`${topic}/reply`).length).toBe(2);
    expect(await device.quiet()).toEqual([]);
  });

  it("[APP-2] explains on the common topic how to name a device", async () => {
    const { app } = await open();
    const detailOf = async (more: object) =>
      (await app.ask("tendon/control", { type: "device_control", action: "mute", ...more }))["detail"];
    expect(await detailOf({})).toBe(
      "the message names no device: add `device` or `session_id`, or publish on `tendon/devices/{id}/control`",
    );
    expect(await detailOf({ session_id: "..." })).toBe(
      "no connected device has a session with this `session_id`",
    );
  });

  it("[CTL-1] generates unique request ids", async () => {
    const { app } = await open();
    for (let index = 0; index < 50; index += 1) {
      app.publish("tendon/control", index % 2 === 0 ? "not json" : '{"action":"explode","device":"x"}');
    }
    await until(() => app.on("tendon/control/reply").length === 50);
    const ids = app.on("tendon/control/reply").map(({ request_id }) => request_id);
    expect(new Set(ids).size).toBe(50);
  });
});

describe("apps receive", () => {
  it("[APP-4][APP-6] no requests of others; replies only on the reply topic, once per subscriber", async () => {
    const { site, device, app } = await open();
    const deaf = await MqttApp.open(site, { clientId: "deaf" });
    const curious = await MqttApp.open(site, { clientId: "curious" });
    await curious.wire.subscribe("tendon/#");
    await curious.wire.subscribe("tendon/devices/#");
    await curious.next(`tendon/devices/${device.id}/status`);
    app.publish(callTopic, { request_id: "r", tool: speaker.name, arguments: { volume: 1 } });
    await serve(device);
    await app.next(`${callTopic}/reply`);
    // With the same token: sees the reply once, and never the request.
    await curious.next(`${callTopic}/reply`);
    await Promise.all([curious.wire.ping(), deaf.wire.ping()]);
    expect(curious.on(`${callTopic}/reply`).length).toBe(1);
    expect(curious.on(callTopic)).toEqual([]);
    expect(deaf.wire.messages).toEqual([]);
  });

  it("[APP-6] nothing that another app publishes to gateway, device or unknown topics", async () => {
    const { site, device, app } = await open();
    const other = await MqttApp.open(site, { clientId: "other" });
    await other.wire.subscribe("tendon/#");
    await other.next(`tendon/devices/${device.id}/status`);
    const before = other.wire.messages.length;
    const topics = [
      `tendon/devices/${device.id}/status`,
      `tendon/devices/${device.id}/events/x`,
      `${callTopic}/reply`,
      "tendon/control/reply",
      "tendon/anything",
      "device-server",
      `devices/p2p/TENDON@@@02_00_00_00_00_01@@@x`,
      "$SYS/x",
    ];
    for (const topic of topics) app.wire.publish(topic, '{"state":"offline"}', { retain: true });
    await app.wire.ping();
    await other.wire.ping();
    expect(other.wire.messages.length).toBe(before);
    expect(await device.quiet()).toEqual([]);
    const late = await MqttApp.open(site, { clientId: "late" });
    await late.wire.subscribe("tendon/#");
    expect(await late.next(`tendon/devices/${device.id}/status`)).toMatchObject({ state: "online" });
    await late.wire.ping();
    expect(late.wire.messages.length).toBe(1);
  });
});

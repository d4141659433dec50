import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { MqttApp } from "../mqtt-app.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { textContent, tool } from "../raw-device.ts";
import { firstDevice, openSite } from "../site.ts";

const statusTopic = `tendon/devices/${firstDevice}/status`;
const callTopic = `tendon/devices/${firstDevice}/call`;
const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe("messages to apps about devices", () => {
  it("[APP-5] retain the status: a later subscriber gets the last one, with the reason if offline", async () => {
    const site = await openSite();
    const early = await MqttApp.open(site, { clientId: "early" });
    await early.wire.subscribe("tendon/devices/+/status");
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    expect(await early.next(statusTopic)).toEqual({ state: "online", at: iso, reason: null });
    const late = await MqttApp.open(site, { clientId: "late" });
    await late.wire.subscribe(statusTopic);
    expect(await late.next(statusTopic)).toEqual({ state: "online", at: iso, reason: null });
    expect(late.wire.messages[0]).toMatchObject({ retain: true });
    device.cut();
    const offline = { state: "offline", at: iso, reason: "the device closed the connection" };
    expect(await early.next(statusTopic)).toEqual(offline);
    expect(early.wire.messages[1]).toMatchObject({ retain: false });
    const latest = await MqttApp.open(site, { clientId: "latest" });
    await latest.wire.subscribe("tendon/#");
    expect(await latest.next(statusTopic)).toEqual(offline);
    await latest.wire.ping();
    expect(latest.wire.messages.length).toBe(1);
  });

  it("[APP-5] include the status of devices that are offline since a restart, for every matching filter", async () => {
    const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-status-"));
    onTestFinished(() => fs.rmSync(data, { recursive: true, force: true }));
    const before = await openSite({ config: { data } });
    const device = await before.join({ transport: mqttTransport, tools: [tool("a")] });
    const other = await before.join({ transport: mqttTransport, deviceId: "02:00:00:00:00:02" });
    device.cut();
    await until(async () => (await before.device(device.id))["online"] === false);
    await before.rest("DELETE", `/devices/${other.id}`);
    await before.stop();
    const site = await openSite({ config: { data } });
    const offline = { state: "offline", at: iso, reason: "the device closed the connection" };
    const takesIn = [statusTopic, "tendon/#", "tendon/+/+/status", "tendon/devices/#", `${statusTopic}/#`];
    const leavesOut = [
      "tendon/devices/+/call/reply",
      "tendon/devices/+",
      "tendon/devices/02:00:00:00:00:02/#",
    ];
    for (const filter of [...takesIn, ...leavesOut]) {
      const app = await MqttApp.open(site);
      await app.wire.subscribe(filter);
      if (takesIn.includes(filter)) expect(await app.next(statusTopic)).toEqual(offline);
      await app.wire.ping();
      const retained = app.wire.messages.map(({ retain }) => retain);
      expect([filter, retained]).toEqual([filter, takesIn.includes(filter) ? [true] : []]);
    }
  });

  it("[TOK-3] never reach an app whose token does not see the device", async () => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const { body } = await site.rest("POST", "/tokens", {
      name: "elsewhere",
      scopes: ["read", "call"],
      devices: { ids: ["02:00:00:00:00:77"] },
    });
    const blind = await MqttApp.open(site, { token: String(body["token"]) });
    const admin = await MqttApp.open(site);
    for (const app of [blind, admin]) await app.wire.subscribe("tendon/#");
    const methods = ["notifications/reply", "notifications/control/reply", "reply"];
    for (const method of methods) device.notify(method);
    await until(() => admin.on(`tendon/devices/${firstDevice}/events/reply`).length === 2);
    await blind.wire.ping();
    expect(blind.wire.messages).toEqual([]);
  });

  it("[APP-5] include devices over WebSocket", async () => {
    const site = await openSite();
    const app = await MqttApp.open(site);
    await app.wire.subscribe("tendon/devices/+/status");
    await site.join({ tools: [tool("a")] });
    expect(await app.next(statusTopic)).toMatchObject({ state: "online" });
  });

  it.each([
    ["notifications/button", "button"],
    ["notifications/touch/left", "touch_left"],
    ["notifications/a b#c+d$é", "a_b_c_d__"],
    ["notifications/", "_"],
    ["notifications/x-y.z_1", "x-y.z_1"],
    ["presence", "presence"],
    ["notifications/notifications/twice", "notifications_twice"],
    ["a/notifications/b", "a_notifications_b"],
  ])("[APP-5] publish the notification %s as …/events/%s", async (method, name) => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const app = await MqttApp.open(site);
    await app.wire.subscribe("tendon/devices/+/events/+");
    device.notify(method, { pressed: true });
    const at = `tendon/devices/${device.id}/events/${name}`;
    expect(await app.next(at)).toEqual({ method, params: { pressed: true }, at: iso });
    expect(app.wire.messages).toHaveLength(1);
    expect(app.wire.messages[0]).toMatchObject({ retain: false });
  });

  it("[APP-5] do not retain events", async () => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const events = await site.events("?type=device.notification");
    device.notify("notifications/button");
    await events.next();
    const app = await MqttApp.open(site);
    await app.wire.subscribe("tendon/#");
    await app.next(statusTopic);
    await app.wire.ping();
    expect(app.wire.messages.length).toBe(1);
  });
});

describe("many requests at once", () => {
  it("[APP-3] a thousand calls are each answered or rejected once", async () => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const app = await MqttApp.open(site);
    await app.wire.subscribe("tendon/#");
    for (let index = 0; index < 1_000; index += 1) app.publish(callTopic, { request_id: index, tool: "a" });
    let served = 0;
    const replies = () => app.on(`${callTopic}/reply`);
    while (replies().length < 1_000) {
      for (const text of device.wire.untaken.slice()) {
        await device.wire.nextText();
        const { payload } = JSON.parse(text) as { payload: { id: number } };
        device.reply(payload.id, textContent("done"));
        served += 1;
      }
      await until(() => device.wire.untaken.length > 0 || replies().length === 1_000);
    }
    const answers = replies();
    expect(new Set(answers.map(({ request_id }) => request_id)).size).toBe(1_000);
    const codes = new Set(
      answers.filter(({ ok }) => ok === false).map(({ error }) => (error as { code: string }).code),
    );
    expect([...codes]).toEqual(["queue_full"]);
    expect(answers.filter(({ ok }) => ok === true).length).toBe(served);
    expect(served).toBeGreaterThanOrEqual(33);
    await app.wire.ping();
    expect(replies().length).toBe(1_000);
  });

  it("[CTL-4] a thousand actions are each answered or rejected once", async () => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [tool("self.audio_speaker.mute")] });
    const app = await MqttApp.open(site);
    await app.wire.subscribe("tendon/control/reply");
    for (let index = 0; index < 1_000; index += 1) {
      app.publish("tendon/control", { request_id: index, action: "mute", device: device.id });
    }
    const replies = () => app.on("tendon/control/reply");
    while (replies().length < 1_000) {
      await until(() => device.wire.untaken.length > 0 || replies().length === 1_000);
      if (device.wire.untaken.length === 0) continue;
      device.reply((await device.nextRequest("tools/call")).id, textContent("true"));
    }
    expect(new Set(replies().map(({ request_id }) => request_id)).size).toBe(1_000);
    const codes = new Set(replies().flatMap(({ code }) => (code === undefined ? [] : [code])));
    expect([...codes]).toEqual(["queue_full"]);
  });
});

describe("apps among many devices", () => {
  it("[APP-5] when many devices disconnect during calls, each is reported as offline", async () => {
    const site = await openSite();
    const app = await MqttApp.open(site);
    await app.wire.subscribe("tendon/#");
    const count = 250;
    const devices = [];
    for (let index = 0; index < count; index += 1) {
      const deviceId = `02:00:00:00:01:${index.toString(16).padStart(2, "0")}`;
      devices.push(await site.connect({ transport: mqttTransport, deviceId }));
    }
    const told = (word: string) =>
      app.wire.messages.filter(({ topic, payload }) => topic.endsWith(word) && payload.length > 0).length;
    await until(() => told("/status") === count, "all online");
    for (const { id } of devices)
      app.publish(`tendon/devices/${id}/call`, { request_id: id, tool: "a", timeoutMs: 60_000 });
    await app.wire.ping();
    for (const device of devices) device.cut();
    await until(() => told("/call/reply") === count, "all answered");
    await until(() => told("/status") === 2 * count, "all told as gone");
  });

  it("[APP-7] an app that does not read does not delay others, and is disconnected in the end", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const deaf = await MqttApp.open(site, { clientId: "deaf" });
    const app = await MqttApp.open(site, { clientId: "reads" });
    for (const { wire } of [deaf, app]) await wire.subscribe("tendon/devices/+/events/+");
    deaf.wire.socket.pause();
    let over = false;
    void deaf.wire.ended.then(() => {
      over = true;
    });
    // How much the system buffers depends on the machine.
    for (let told = 125; !over && told <= 10_000; told += 125) {
      for (let count = 0; count < 125; count += 1)
        device.notify("notifications/news", { pad: "x".repeat(15_000) });
      await until(() => app.wire.messages.length === told, "all that was told");
      // The maximum for a device in 16 seconds.
      clock.advance(16_000);
      // A client that does not read notices a closed connection only when it writes.
      deaf.wire.send({ cmd: "pingreq" });
      await app.wire.ping();
    }
    await deaf.wire.ended;
    await app.wire.ping();
  });
});

describe("a gateway that stops", () => {
  it("[APP-1] disconnects apps and accepts no new ones", async () => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const apps = await Promise.all(["one", "two"].map((clientId) => MqttApp.open(site, { clientId })));
    await site.tendon.stop();
    await Promise.all([device.wire.ended, ...apps.map(({ wire }) => wire.ended)]);
    await expect(MqttApp.open(site)).rejects.toMatchObject({ returnCode: -1 });
  });
});

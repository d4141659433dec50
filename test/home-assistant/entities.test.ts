/** Devices in Home Assistant, over a real Mosquitto: the worked example, the table of entities, commands and faults. */
import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { type RawDevice, textContent } from "../raw-device.ts";
import { firstDevice, type Site } from "../site.ts";
import { Assistant, makeToken, openBroker, openGateway } from "./house.ts";

const slug = "020000000001";
const topics = `tendon/ha/${slug}`;

async function board(site: Site, options: object = {}): Promise<VirtualDevice> {
  const device = new VirtualDevice({
    url: site.tendon.addresses.deviceWebSocket,
    autoReconnect: false,
    timing: { rebootDelayMs: 1, bootMs: 1 },
    ...options,
  });
  onTestFinished(() => device.stop());
  await device.connect();
  return device;
}

function answer(device: RawDevice, answers: Readonly<Record<string, string | object>>): void {
  void (async () => {
    for (;;) {
      const { id, message } = await device.nextRequest("tools/call");
      const { name } = message["params"] as { name: string };
      const reply = answers[name] ?? "true";
      device.reply(id, typeof reply === "string" ? textContent(reply) : reply);
    }
  })().catch(() => undefined);
}

const one = (name: string, schema: object) => ({
  name,
  description: "",
  inputSchema: { type: "object", properties: { value: schema }, required: ["value"] },
});
const none = (name: string) => ({ name, description: "", inputSchema: { type: "object", properties: {} } });

describe("a virtual board in Home Assistant", () => {
  it("has the entities of the worked example, field by field, and each command its effect", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker);
    await makeToken(site);
    const assistant = await Assistant.connect(broker);
    const device = await board(site, {
      board: { battery: { level: 80, charging: false }, chipTemperature: 41.5 },
    });
    const id = device.id.replaceAll(":", "");
    const at = `tendon/ha/${id}`;
    const found = await assistant.discovered(id, ({ components }) => components["battery"] !== undefined);
    const { alias, board: model, firmware } = await site.device(device.id);
    expect(found).toMatchObject({
      device: {
        identifiers: [`tendon_${device.id}`],
        connections: [["mac", device.id]],
        name: alias,
        manufacturer: "Espressif",
        model,
        sw_version: firmware,
        configuration_url: `${site.tendon.addresses.public}/#/devices/${device.id}`,
        via_device: "tendon_gateway",
      },
      origin: { name: "Tendon" },
      availability: [{ topic: "tendon/ha/gateway" }, { topic: `${at}/availability` }],
      availability_mode: "all",
      state_topic: `${at}/state`,
      qos: 1,
      message_expiry_interval: 60,
    });
    const unique = (key: string) => ({ unique_id: `tendon_${id}_${key}` });
    const diagnostic = { entity_category: "diagnostic" };
    const expected = {
      volume: {
        platform: "number",
        ...unique("volume"),
        name: "Volume",
        icon: "mdi:volume-high",
        command_topic: `${at}/set/volume`,
        min: 0,
        max: 100,
        step: 1,
        mode: "slider",
        unit_of_measurement: "%",
        value_template: "{{ value_json.audio_speaker.volume }}",
      },
      brightness: {
        platform: "number",
        ...unique("brightness"),
        name: "Screen brightness",
        entity_category: "config",
        command_topic: `${at}/set/brightness`,
        min: 0,
        max: 100,
        unit_of_measurement: "%",
        value_template: "{{ value_json.screen.brightness }}",
      },
      theme: {
        platform: "select",
        ...unique("theme"),
        name: "Theme",
        entity_category: "config",
        options: ["light", "dark"],
        command_topic: `${at}/set/theme`,
        value_template: "{{ value_json.screen.theme }}",
      },
      battery: {
        platform: "sensor",
        ...unique("battery"),
        device_class: "battery",
        state_class: "measurement",
        unit_of_measurement: "%",
        ...diagnostic,
        value_template: "{{ value_json.battery.level }}",
      },
      charging: {
        platform: "binary_sensor",
        ...unique("charging"),
        device_class: "battery_charging",
        ...diagnostic,
        value_template: "{{ 'ON' if value_json.battery.charging else 'OFF' }}",
      },
      chip_temp: {
        platform: "sensor",
        ...unique("chip"),
        device_class: "temperature",
        unit_of_measurement: "°C",
        ...diagnostic,
        value_template: "{{ value_json.chip.temperature }}",
      },
      photo: {
        platform: "image",
        ...unique("photo"),
        name: "Last photo",
        content_type: "image/jpeg",
        image_topic: `${at}/photo`,
        enabled_by_default: false,
      },
      take_photo: {
        platform: "button",
        ...unique("take_photo"),
        name: "Take photo",
        icon: "mdi:camera",
        command_topic: `${at}/press/take_photo`,
        payload_press: "PRESS",
        enabled_by_default: false,
      },
      reboot: {
        platform: "button",
        ...unique("reboot"),
        device_class: "restart",
        entity_category: "config",
        command_topic: `${at}/press/reboot`,
        enabled_by_default: false,
      },
      firmware: {
        platform: "update",
        ...unique("fw"),
        device_class: "firmware",
        title: "xiaozhi",
        state_topic: `${at}/firmware`,
        command_topic: `${at}/press/firmware`,
        payload_install: "INSTALL",
        enabled_by_default: false,
      },
      talk: {
        platform: "event",
        ...unique("talk"),
        name: "Conversation",
        event_types: ["started", "ended"],
        state_topic: `${at}/talk`,
      },
    };
    for (const [key, component] of Object.entries(expected))
      expect([key, found.components[key]]).toEqual([key, component]);

    expect(await assistant.state("tendon/ha/gateway")).toBe("online");
    expect(await assistant.state(`${at}/availability`)).toBe("online");
    expect(JSON.parse(await assistant.state(`${at}/firmware`))).toMatchObject({
      installed_version: firmware,
      latest_version: firmware,
    });
    await assistant.command(`${at}/set/volume`, "37", { qos: 1, properties: { messageExpiryInterval: 60 } });
    await until(
      () => JSON.parse(assistant.retained.get(`${at}/state`) ?? "{}").audio_speaker?.volume === 37,
      "the volume",
    );
    await assistant.command(`${at}/set/theme`, "dark");
    await until(
      () => JSON.parse(assistant.retained.get(`${at}/state`) ?? "{}").screen?.theme === "dark",
      "the theme",
    );
    await assistant.command(`${at}/press/take_photo`, "PRESS");
    const photo = await until(() => assistant.seen.find(({ topic }) => topic === `${at}/photo`), "the photo");
    expect([...photo.payload.subarray(0, 2)]).toEqual([0xff, 0xd8]);
    const { body } = await site.rest("GET", `/calls?device=${device.id}&tool=self.audio_speaker.set_volume`);
    expect(body["calls"]).toMatchObject([{ principal: "home-assistant", outcome: "ok" }]);

    await device.stop();
    await assistant.state(`${at}/availability`, "offline");
    await site.rest("DELETE", `/devices/${device.id}`);
    for (const topic of [
      `homeassistant/device/tendon_${id}/config`,
      `${at}/availability`,
      `${at}/state`,
      `${at}/firmware`,
    ])
      await assistant.gone(topic);
  });
});

describe("tools in Home Assistant", () => {
  it("become the entity of each row of the table, with state after the board's confirmation", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker, {
      entities: [
        { tool: "self.fan.set_speed", name: "Fan", icon: "mdi:fan", unit: "rpm" },
        { tool: "self.secret.press", hidden: true },
      ],
    });
    await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const tools = [
      one("self.fan.set_speed", { type: "integer", minimum: 0, maximum: 3 }),
      none("self.fan.get_speed"),
      one("self.lamp.set_color", { type: "string", enum: ["red", "blue"] }),
      one("self.lamp.set_power", { type: "boolean" }),
      none("self.heater.turn_on"),
      none("self.heater.turn_off"),
      none("self.chassis.dance"),
      none("self.secret.press"),
      one("self.screen.say", { type: "string" }),
      none("self.room.get_temperature"),
      none("self.eye.look"),
      {
        ...none("self.two"),
        inputSchema: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } },
      },
    ];
    const device = await site.join({ transport: mqttTransport, tools });
    const picture = Buffer.from([0xff, 0xd8, 1, 2]);
    answer(device, {
      "self.fan.get_speed": "2",
      "self.room.get_temperature": "21.5",
      "self.eye.look": {
        content: [{ type: "image", data: picture.toString("base64"), mimeType: "image/jpeg" }],
        isError: false,
      },
    });
    const { components } = await assistant.discovered(
      slug,
      (found) => found.components["fan_set_speed"] !== undefined,
    );
    expect(components["fan_set_speed"]).toMatchObject({
      platform: "number",
      name: "Fan",
      icon: "mdi:fan",
      unit_of_measurement: "rpm",
      min: 0,
      max: 3,
      state_topic: `${topics}/value/fan_set_speed`,
    });
    expect(components["lamp_set_color"]).toMatchObject({ platform: "select", options: ["red", "blue"] });
    expect(components["lamp_set_power"]).toMatchObject({ platform: "switch", payload_on: "ON" });
    expect(components["heater"]).toMatchObject({ platform: "switch", name: "Heater" });
    expect(components["chassis_dance"]).toMatchObject({
      platform: "button",
      command_topic: `${topics}/press/chassis_dance`,
    });
    expect(components["screen_say"]).toMatchObject({ platform: "text", max: 255 });
    expect(components["room_get_temperature"]).toMatchObject({
      platform: "sensor",
      name: "Room temperature",
    });
    expect(components["problem"]).toMatchObject({ platform: "event" });
    for (const key of ["secret_press", "two", "fan_get_speed", "heater_turn_on"])
      expect(components[key]).toBeUndefined();

    expect(await assistant.state(`${topics}/value/room_get_temperature`)).toBe("21.5");
    expect(await assistant.state(`${topics}/value/fan_set_speed`)).toBe("2");
    await assistant.command(`${topics}/set/lamp_set_color`, "blue");
    await assistant.state(`${topics}/value/lamp_set_color`, "blue");
    await assistant.command(`${topics}/set/heater`, "OFF");
    await assistant.state(`${topics}/value/heater`, "OFF");
    await assistant.command(`${topics}/set/lamp_set_power`, "ON");
    await assistant.state(`${topics}/value/lamp_set_power`, "ON");
    await assistant.command(`${topics}/set/screen_say`, "good morning");
    await assistant.state(`${topics}/value/screen_say`, "good morning");
    await assistant.command(`${topics}/press/eye_look`, "PRESS");
    const image = await assistant.discovered(
      slug,
      (found) => found.components["eye_look_picture"] !== undefined,
    );
    expect(image.components["eye_look_picture"]).toMatchObject({
      platform: "image",
      image_topic: `${topics}/value/eye_look_picture`,
    });
    await until(
      () =>
        assistant.seen.some(
          ({ topic, payload }) => topic === `${topics}/value/eye_look_picture` && payload.equals(picture),
        ),
      "the picture",
    );
    const { body } = await site.rest("GET", `/calls?device=${firstDevice}&tool=self.heater.turn_off`);
    expect(body["calls"]).toHaveLength(1);
  });

  it("are hidden without their scope, and a component that goes is removed", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker);
    const tokenId = await makeToken(site);
    const assistant = await Assistant.connect(broker);
    const device = await board(site);
    const id = device.id.replaceAll(":", "");
    await assistant.discovered(id, ({ components }) => components["reboot"] !== undefined);
    await site.rest("DELETE", `/tokens/${tokenId}`);
    await assistant.state("tendon/ha/gateway", "offline");
    await makeToken(site, ["read", "call"]);
    await assistant.state("tendon/ha/gateway", "online");
    const found = await assistant.discovered(id, ({ components }) => components["reboot"] === undefined);
    expect(found.components["firmware"]).not.toHaveProperty("command_topic");
    const removal = assistant.seen.some(
      ({ topic, payload }) =>
        topic.endsWith(`${id}/config`) &&
        JSON.stringify(JSON.parse(payload.toString()).components.reboot) === '{"platform":"button"}',
    );
    expect(removal).toBe(true);
  });
});

describe("commands of Home Assistant", () => {
  it("that are retained, wrong, too large or for nothing have no effect, and say so where they can", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker);
    await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    await assistant.client.publishAsync(`${topics}/set/lamp_set_level`, "9", { qos: 1, retain: true });
    const device = await site.join({
      transport: mqttTransport,
      tools: [one("self.lamp.set_level", { type: "integer", minimum: 0, maximum: 9 })],
    });
    await assistant.discovered(slug, ({ components }) => components["lamp_set_level"] !== undefined);
    const wrong = ["x", "", "10", "-1", "1.5", "Infinity", "0x", "9".repeat(5_000)];
    for (const payload of wrong) await assistant.command(`${topics}/set/lamp_set_level`, payload);
    for (const topic of [
      "tendon/ha/nothing/set/x",
      `${topics}/set/nothing`,
      `${topics}/press/lamp_set_level`,
    ])
      await assistant.command(topic, "1");
    const problems = await until(() => {
      const found = assistant.events(`${topics}/problem`);
      return found.length === wrong.length ? found : undefined;
    }, "the problems");
    expect(problems.slice(0, 3)).toMatchObject([
      {
        event_type: "failed",
        entity: "lamp_set_level",
        code: "arguments_invalid",
        detail: "the payload is not a number",
      },
      { code: "arguments_invalid" },
      { code: "arguments_invalid", detail: "the payload must be from 0 to 9" },
    ]);
    expect(problems.at(-1)).toMatchObject({ code: "payload_too_large" });
    expect(await device.quiet()).toEqual([]);
    expect(assistant.retained.has(`${topics}/value/lamp_set_level`)).toBe(false);
  });

  it("that need approval are shown as an event and wait in the console", async () => {
    const broker = await openBroker();
    const rules = [{ tool: "self.lamp.on", effect: "confirm" as const }];
    const site = await openGateway(broker, {}, { config: { access: { rules } } });
    await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const device = await site.join({ transport: mqttTransport, tools: [none("self.lamp.on")] });
    answer(device, {});
    await assistant.discovered(slug, ({ components }) => components["lamp_on"] !== undefined);
    await assistant.command(`${topics}/press/lamp_on`, "PRESS");
    const [problem] = await until(() => {
      const found = assistant.events(`${topics}/problem`);
      return found.length > 0 ? found : undefined;
    }, "the problem");
    expect(problem).toMatchObject({ event_type: "approval_required", entity: "lamp_on" });
    const approvalId = String(problem?.["approval_id"]);
    expect((await site.rest("GET", "/approvals")).body["approvals"]).toMatchObject([{ id: approvalId }]);
    await site.rest("POST", `/approvals/${approvalId}/approve`);
    await assistant.command(`${topics}/press/lamp_on`, "PRESS");
    await until(
      async () =>
        ((await site.rest("GET", "/calls?tool=self.lamp.on&outcome=ok")).body["calls"] as unknown[])
          .length === 1,
      "the call",
    );
  });
});

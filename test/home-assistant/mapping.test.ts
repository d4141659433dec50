/** Tools as entities of Home Assistant, row by row of the table, over a real Mosquitto. */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { firstDevice } from "../site.ts";
import {
  Assistant,
  answer,
  type Discovered,
  makeToken,
  none,
  one,
  openBoard,
  openBroker,
  openGateway,
} from "./house.ts";

const slug = "020000000001";
const topics = `tendon/ha/${slug}`;

function hasButton(params: unknown, button: number): boolean {
  return JSON.stringify(params) === JSON.stringify({ button });
}

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

  it("have their state from the status, from the tool that reads it, or from the last confirmed value", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker);
    await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const number = { type: "number", minimum: 0, maximum: 1 };
    const tools = [
      none("self.get_device_status"),
      one("self.lamp.set_level", number),
      // Before the tool that sets it: it is no entity of its own.
      none("self.fan.get_speed"),
      one("self.fan.set_speed", { type: "integer", minimum: 0, maximum: 3 }),
      one("self.door.set_lock", { type: "boolean" }),
      none("self.door.get_lock"),
      one("self.room.set_warmth", number),
      none("self.room.get_temperature"),
      none("self.room.get_report"),
      none("self.room.get_text"),
    ];
    const device = await site.join({ transport: mqttTransport, tools });
    const answers: Record<string, string> = {
      "self.get_device_status": JSON.stringify({ lamp: { level: 0.25 } }),
      "self.fan.get_speed": "2",
      "self.door.get_lock": "true",
      "self.room.get_temperature": "21.5",
      // Not a number or a short text.
      "self.room.get_report": JSON.stringify({ rooms: 3 }),
      "self.room.get_text": "x".repeat(256),
    };
    answer(device, answers);
    const { components } = await assistant.discovered(
      slug,
      (found) => "value_template" in (found.components["lamp_set_level"] ?? {}),
    );
    const unique = (key: string) => ({ unique_id: `tendon_${slug}_${key}` });
    expect(components["lamp_set_level"]).toEqual({
      platform: "number",
      ...unique("lamp_set_level"),
      name: "Lamp level",
      min: 0,
      max: 1,
      value_template: "{{ value_json.lamp.level }}",
      command_topic: `${topics}/set/lamp_set_level`,
    });
    expect(components["fan_set_speed"]).toEqual({
      platform: "number",
      ...unique("fan_set_speed"),
      name: "Fan speed",
      step: 1,
      min: 0,
      max: 3,
      state_topic: `${topics}/value/fan_set_speed`,
      command_topic: `${topics}/set/fan_set_speed`,
    });
    expect(components["room_get_temperature"]).toEqual({
      platform: "sensor",
      ...unique("room_get_temperature"),
      name: "Room temperature",
      state_topic: `${topics}/value/room_get_temperature`,
    });
    expect(components["fan_get_speed"]).toBeUndefined();
    await assistant.state(`${topics}/value/fan_set_speed`, "2");
    await assistant.state(`${topics}/value/door_set_lock`, "ON");
    await assistant.state(`${topics}/value/room_get_temperature`, "21.5");
    await assistant.command(`${topics}/set/room_set_warmth`, "0.5");
    await assistant.state(`${topics}/value/room_set_warmth`, "0.5");
    for (const key of ["room_get_report", "room_get_text"])
      expect(assistant.retained.has(`${topics}/value/${key}`)).toBe(false);
    // The board decides what is set: it shows what the board says after the command.
    answers["self.fan.get_speed"] = "1";
    await assistant.command(`${topics}/set/fan_set_speed`, "3");
    await assistant.state(`${topics}/value/fan_set_speed`, "1");
  });

  it("can be changed by `entities`: name, icon, unit, class, limits and options, for their commands too", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker, {
      entities: [
        { tool: "self.lamp.set_level", min: 10, max: 20, unit: "lm", deviceClass: "illuminance" },
        { tool: "self.lamp.set_scene", options: ["day", "night"], name: "Scene" },
        { tool: "self.motor.set_steps", min: -5, max: 5 },
        { tool: "self.lamp.blink", enabledByDefault: false, icon: "mdi:lamp" },
        { tool: "self.lamp.explode", hidden: true },
      ],
    });
    await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const tools = [
      one("self.lamp.set_level", { type: "integer", minimum: 0, maximum: 100 }),
      one("self.lamp.set_scene", { type: "string" }),
      one("self.motor.set_steps", { type: "integer" }),
      none("self.lamp.blink"),
      none("self.lamp.explode"),
      // Its key is that of an entity of every board.
      none("self.firmware"),
    ];
    const device = await site.join({ transport: mqttTransport, tools });
    const calls = answer(device);
    const { components } = await assistant.discovered(slug, (found) => "lamp_blink" in found.components);
    expect(components["lamp_set_level"]).toMatchObject({
      ...{ platform: "number", min: 10, max: 20, unit_of_measurement: "lm", device_class: "illuminance" },
    });
    expect(components["lamp_set_scene"]).toMatchObject({
      ...{ platform: "select", options: ["day", "night"], name: "Scene" },
    });
    expect(components["motor_set_steps"]).toMatchObject({ platform: "number", min: -5, max: 5 });
    expect(components["lamp_blink"]).toMatchObject({ enabled_by_default: false, icon: "mdi:lamp" });
    expect(components["lamp_explode"]).toBeUndefined();
    expect(components["firmware"]).toMatchObject({ platform: "update" });
    expect(components["firmware_tool"]).toMatchObject({ platform: "button", name: "Firmware" });
    await assistant.command(`${topics}/set/lamp_set_level`, "21");
    await assistant.command(`${topics}/set/lamp_set_scene`, "dusk");
    await until(() => assistant.events(`${topics}/problem`).length === 2, "the problems");
    await assistant.command(`${topics}/set/lamp_set_scene`, "night");
    await assistant.state(`${topics}/value/lamp_set_scene`, "night");
    expect(calls).toEqual([{ name: "self.lamp.set_scene", arguments: { value: "night" } }]);
  });

  it("that only people may call have entities with `call:user`, disabled at first", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker);
    const tokenId = await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const device = await site.join({
      transport: mqttTransport,
      tools: [none("self.lamp.blink")],
      userTools: [none("self.lamp.reset"), none("self.reboot")],
    });
    const calls = answer(device);
    const agent = await assistant.discovered(slug, ({ components }) => "lamp_blink" in components);
    expect(agent.components["lamp_blink"]).not.toHaveProperty("enabled_by_default");
    for (const key of ["lamp_reset", "reboot"]) expect(agent.components[key]).toBeUndefined();
    // A command for an entity that Home Assistant does not have.
    await assistant.command(`${topics}/press/lamp_reset`, "PRESS");
    await site.rest("DELETE", `/tokens/${tokenId}`);
    await assistant.state("tendon/ha/gateway", "offline");
    await makeToken(site);
    const person = await assistant.discovered(slug, ({ components }) => "lamp_reset" in components);
    expect(person.components["lamp_reset"]).toMatchObject({ platform: "button", enabled_by_default: false });
    expect(person.components["reboot"]).toMatchObject({ platform: "button", enabled_by_default: false });
    expect(person.components["firmware"]).toMatchObject({ command_topic: `${topics}/press/firmware` });
    await assistant.command(`${topics}/press/lamp_reset`, "PRESS");
    await until(() => calls.length > 0, "the call");
    expect(calls).toEqual([{ name: "self.lamp.reset", arguments: {} }]);
  });

  it("are hidden without their scope, and a component that goes is removed", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker);
    const tokenId = await makeToken(site);
    const assistant = await Assistant.connect(broker);
    const device = await openBoard(site);
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

describe("notifications of a device in Home Assistant", () => {
  it("are events with triggers, of a bounded number of names", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker);
    await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const device = await site.join({ transport: mqttTransport, tools: [none("self.lamp.blink")] });
    const before = await assistant.discovered(slug, ({ components }) => "lamp_blink" in components);
    expect(before.components["notification"]).toBeUndefined();
    device.notify("notifications/button/pressed", { button: 2 });
    const at = `${topics}/notification`;
    await until(() => assistant.events(at).length === 1, "the event");
    expect(assistant.events(at)).toEqual([{ event_type: "button/pressed", params: { button: 2 } }]);
    // The event comes after Home Assistant knows its name.
    const { components } = await assistant.discovered(slug);
    expect(components["notification"]).toEqual({
      platform: "event",
      unique_id: `tendon_${slug}_notification`,
      name: "Notification",
      event_types: ["button/pressed"],
      state_topic: at,
    });
    expect(components["trigger_button_pressed"]).toEqual({
      platform: "device_automation",
      automation_type: "trigger",
      type: "notification",
      subtype: "button/pressed",
      topic: at,
      payload: "button/pressed",
      value_template: "{{ value_json.event_type }}",
    });
    device.notify("notifications/button/pressed", { text: "x".repeat(5_000) });
    await until(() => assistant.events(at).length === 2, "the event without its long details");
    expect(assistant.events(at).at(-1)).toEqual({ event_type: "button/pressed" });
    for (let number = 0; number < 40; number += 1) device.notify(`notifications/other_${number}`);
    device.notify("notifications/button/pressed", { button: 3 });
    await until(() => assistant.events(at).some(({ params }) => hasButton(params, 3)), "the last event");
    const types = ({ components }: Discovered) => components["notification"]?.["event_types"] as unknown[];
    const all = await assistant.discovered(slug, (found) => types(found).length === 32);
    expect(types(all)).not.toContain("other_39");
    expect(assistant.events(at).some(({ event_type }) => event_type === "other_39")).toBe(false);
  });
});

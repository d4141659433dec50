/** Tools as entities of Home Assistant, row by row of the table, over a real Mosquitto. */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { firstDevice } from "../site.ts";
import { Assistant, answer, makeToken, none, one, openBoard, openBroker, openGateway } from "./house.ts";

const slug = "020000000001";
const topics = `tendon/ha/${slug}`;

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

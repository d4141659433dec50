/** The worked example of MQTT discovery: a virtual board in Home Assistant, over a real Mosquitto. */
import { version } from "@tendon/gateway";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { Assistant, makeToken, openBoard, openBroker, openGateway, retainedOn } from "./house.ts";

const mac = "02:00:00:de:30:01";
const id = "020000de3001";
const at = "tendon/ha/020000de3001";
const serial = { number: "SN-0001", hmacKey: "5e".repeat(32) };

describe("a virtual board in Home Assistant", () => {
  it("has the entities of the worked example, field by field, and each command its effect", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker, {}, { config: { devices: { admission: "list" } } });
    await site.rest("POST", "/devices/import", {
      devices: [{ id: mac, serial: serial.number, hmacKey: serial.hmacKey }],
    });
    await makeToken(site);
    const assistant = await Assistant.connect(broker);
    const device = await openBoard(site, {
      otaUrl: site.tendon.addresses.ota,
      url: undefined,
      board: {
        mac,
        serial,
        name: "esp-box-3",
        firmware: "2.4.2",
        battery: { level: 80, charging: false },
        chipTemperature: 41.5,
      },
    });
    await site.rest("PATCH", `/devices/${mac}`, { alias: "desk" });
    const found = await assistant.discovered(
      id,
      ({ device: { name }, components }) => name === "desk" && components["battery"] !== undefined,
    );
    const unique = (key: string) => ({ unique_id: `tendon_${id}_${key}` });
    const diagnostic = { entity_category: "diagnostic" };
    const example = {
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
    // Beside the example: what became of commands.
    const problem = {
      platform: "event",
      ...unique("problem"),
      name: "Problem",
      icon: "mdi:alert-circle-outline",
      ...diagnostic,
      event_types: ["approval_required", "failed"],
      state_topic: `${at}/problem`,
    };
    // Only the version of Tendon and its address differ from run to run.
    expect(found).toEqual({
      device: {
        identifiers: ["tendon_02:00:00:de:30:01"],
        connections: [["mac", "02:00:00:de:30:01"]],
        name: "desk",
        manufacturer: "Espressif",
        model: "esp-box-3",
        sw_version: "2.4.2",
        serial_number: serial.number,
        configuration_url: `${site.tendon.addresses.public}/#/devices/02:00:00:de:30:01`,
        via_device: "tendon_gateway",
      },
      origin: { name: "Tendon", sw_version: version, support_url: "https://github.com/tendon-iot/tendon" },
      availability: [{ topic: "tendon/ha/gateway" }, { topic: `${at}/availability` }],
      availability_mode: "all",
      state_topic: `${at}/state`,
      qos: 1,
      message_expiry_interval: 60,
      components: { ...example, problem },
    });
    expect(Object.keys(found.components)).toHaveLength(12);

    expect(await assistant.state("tendon/ha/gateway")).toBe("online");
    expect(await assistant.state(`${at}/availability`)).toBe("online");
    expect(JSON.parse(await assistant.state(`${at}/firmware`))).toMatchObject({
      installed_version: "2.4.2",
      latest_version: "2.4.2",
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
    await assistant.gone(`homeassistant/device/tendon_${id}/config`);
    const left = async () => [...(await retainedOn(broker)).keys()].filter((topic) => topic.includes(id));
    await until(async () => (await left()).length === 0, "nothing of the board to be left");
  });
});

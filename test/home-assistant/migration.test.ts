/** What stays and what goes in Home Assistant when a gateway restarts, and when ids, tools or settings change meanwhile. */
import { cleanHomeAssistant } from "@tendon/gateway";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { firstDevice } from "../site.ts";
import {
  Assistant,
  answer,
  dataFolder,
  makeToken,
  none,
  one,
  openBroker,
  openGateway,
  retainedOn,
  state,
} from "./house.ts";

const slug = "020000000001";
const topics = `tendon/ha/${slug}`;
const configTopic = `homeassistant/device/tendon_${slug}/config`;
const transport = mqttTransport;
const picture = { type: "image", data: Buffer.from([0xff, 0xd8]).toString("base64"), mimeType: "image/jpeg" };
const status = JSON.stringify({
  audio_speaker: { volume: 40 },
  battery: { level: 80, charging: true },
  chip: { temperature: 41.5 },
});

/** Every discovery message of a device since then, as Home Assistant got it; an empty one as `undefined`. */
function discoveries(assistant: Assistant, topic = configTopic) {
  return assistant.seen
    .filter((message) => message.topic === topic)
    .map(({ payload }) => (payload.length === 0 ? undefined : JSON.parse(payload.toString()).components));
}

describe("a restart of the gateway", () => {
  it("keeps every entity of a board that is away, also those that only its answers have shown", async () => {
    const broker = await openBroker();
    const data = dataFolder();
    const first = await openGateway(broker, {}, { config: { data } });
    await makeToken(first, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const tools = [
      none("self.get_device_status"),
      one("self.audio_speaker.set_volume", { type: "integer", minimum: 0, maximum: 100 }),
      none("self.eye.look"),
    ];
    const device = await first.join({ transport, tools });
    answer(device, {
      "self.get_device_status": status,
      "self.eye.look": { content: [picture], isError: false },
    });
    await assistant.discovered(slug, ({ components }) => components["battery"] !== undefined);
    device.notify("notifications/button_pressed", { button: 1 });
    await assistant.command(`${topics}/press/eye_look`, "PRESS");
    const before = await assistant.discovered(
      slug,
      ({ components }) => "notification" in components && "eye_look_picture" in components,
    );
    expect(Object.keys(before.components)).toEqual(
      expect.arrayContaining(["volume", "battery", "charging", "chip_temp", "trigger_button_pressed"]),
    );
    await first.stop();
    assistant.seen.length = 0;

    const second = await openGateway(broker, {}, { config: { data } });
    await state(second, "connected");
    await assistant.state("tendon/ha/gateway", "online");
    await assistant.state(`${topics}/availability`, "offline");
    await until(() => discoveries(assistant).length > 0, "the discovery again");
    expect(discoveries(assistant)).toEqual([before.components]);
  });

  it("removes what is gone since: devices, tags and tokens, with every topic of theirs", async () => {
    const broker = await openBroker();
    const data = dataFolder();
    const devices = { tags: ["home"] };
    const first = await openGateway(broker, { devices }, { config: { data } });
    await makeToken(first, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const tools = [one("self.lamp.set_on", { type: "boolean" }), none("self.room.get_light")];
    const ids = ["02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"];
    for (const deviceId of ids) {
      const device = await first.join({ deviceId, tools });
      answer(device, { "self.room.get_light": "7" });
      await first.rest("PATCH", `/devices/${deviceId}`, { tags: ["home"] });
    }
    for (const id of ids)
      await assistant.state(`tendon/ha/${id.replaceAll(":", "")}/value/room_get_light`, "7");
    await first.stop();
    // Without Home Assistant: nothing is removed from the broker.
    const between = await openGateway(broker, { token: "none" }, { config: { data } });
    await between.rest("DELETE", `/devices/${ids[0]}`);
    await between.rest("PATCH", `/devices/${ids[1]}`, { tags: [] });
    await between.stop();
    expect(
      [...(await retainedOn(broker)).keys()].filter((topic) => topic.includes("0200000000")),
    ).toHaveLength(3 * 4);

    const second = await openGateway(broker, { devices }, { config: { data } });
    await until(async () => (await state(second, "connected"))["devices"] === 1, "one device");
    const left = async () =>
      [...(await retainedOn(broker)).keys()].filter((topic) => /02000000000[12]/.test(topic));
    await until(async () => (await left()).length === 0, "nothing to be left of the others");
    expect(assistant.retained.has("tendon/ha/020000000003/value/room_get_light")).toBe(true);
    // A token for fewer devices.
    const { body } = await second.rest("GET", "/tokens");
    const [token] = (body["tokens"] as { id: string; name: string }[]).filter(
      ({ name }) => name === "home-assistant",
    );
    await second.rest("DELETE", `/tokens/${token?.id}`);
    await makeToken(second, ["read", "call"], { devices: { ids: [ids[1]] } });
    await until(async () => {
      const topics = [...(await retainedOn(broker)).keys()];
      return !topics.some((topic) => topic.includes("020000000003"));
    }, "nothing to be left of the last one");
  });

  it("never mixes up ids that differ only in characters that topics do not have", async () => {
    const broker = await openBroker();
    const data = dataFolder();
    const first = await openGateway(broker, {}, { config: { data } });
    await makeToken(first, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const ids = ["lamp.kitchen", "lamp_kitchen", "gateway"];
    for (const deviceId of ids) await first.join({ deviceId, tools: [none("self.lamp.blink")] });
    await until(async () => (await state(first, "connected"))["devices"] === 3, "three devices");
    const found = () =>
      [...assistant.retained]
        .filter(([topic]) => topic.startsWith("homeassistant/device/"))
        .map(([, text]) => String(JSON.parse(text).device.identifiers))
        .sort();
    await until(() => found().length === 4, "the discovery of each");
    expect(found()).toEqual([
      "tendon_gateway",
      expect.stringMatching(/^tendon_gateway_[0-9a-f]{8}$/),
      "tendon_lamp.kitchen",
      "tendon_lamp_kitchen",
    ]);
    await first.stop();
    assistant.seen.length = 0;
    const second = await openGateway(broker, {}, { config: { data } });
    await until(async () => (await state(second, "connected"))["devices"] === 3, "three devices again");
    const configs = assistant.seen.filter(({ topic }) => topic.startsWith("homeassistant/device/"));
    expect(configs.filter(({ payload }) => payload.length === 0)).toEqual([]);
  });
});

describe("a tool", () => {
  it("that is renamed or has another kind of argument leaves no entity and no value of the old one", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker, {}, { config: { access: { quarantine: false } } });
    await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const number = { type: "integer", minimum: 0, maximum: 9 };
    const before = [one("self.lamp.set_level", number), one("self.lamp.set_mode", number)];
    const device = await site.join({ transport, tools: before });
    answer(device);
    await assistant.discovered(
      slug,
      ({ components }) => components["lamp_set_mode"]?.["platform"] === "number",
    );
    for (const key of ["lamp_set_level", "lamp_set_mode"]) {
      await assistant.command(`${topics}/set/${key}`, "5");
      await assistant.state(`${topics}/value/${key}`, "5");
    }
    assistant.seen.length = 0;
    device.cut();
    const mode = { type: "string", enum: ["calm", "party"] };
    const tools = [one("self.lamp.set_brightness", number), one("self.lamp.set_mode", mode)];
    answer(await site.join({ transport, tools }));
    const now = await assistant.discovered(
      slug,
      ({ components }) => components["lamp_set_mode"]?.["platform"] === "select",
    );
    expect(Object.keys(now.components).sort()).toEqual([
      ...["firmware", "lamp_set_brightness", "lamp_set_mode", "problem", "talk"],
    ]);
    // Home Assistant keeps a component until a message names nothing but its platform.
    expect(discoveries(assistant)).toContainEqual(
      expect.objectContaining({
        lamp_set_level: { platform: "number" },
        lamp_set_mode: { platform: "number" },
      }),
    );
    await assistant.gone(`${topics}/value/lamp_set_level`);
    await assistant.gone(`${topics}/value/lamp_set_mode`);
    await assistant.command(`${topics}/set/lamp_set_mode`, "party");
    await assistant.state(`${topics}/value/lamp_set_mode`, "party");
    expect([...(await retainedOn(broker)).keys()].filter((topic) => topic.includes("/value/"))).toEqual([
      `${topics}/value/lamp_set_mode`,
    ]);
  });
});

describe("the discovery prefix", () => {
  it("can change: what is below the old one is removed, also by `clean`", async () => {
    const broker = await openBroker();
    const data = dataFolder();
    // The user of the guide may write below `homeassistant` only.
    const login = { broker: broker.url("ha", "ha-password") };
    const first = await openGateway(broker, { ...login, discoveryPrefix: "old/home" }, { config: { data } });
    await makeToken(first, ["read", "call"]);
    await first.join({ tools: [none("self.lamp.blink")] });
    await until(async () => (await state(first, "connected"))["devices"] === 1, "the device");
    await first.stop();
    expect([...(await retainedOn(broker)).keys()]).toEqual(
      expect.arrayContaining([
        `old/home/device/tendon_${slug}/config`,
        "old/home/device/tendon_gateway/config",
      ]),
    );
    const second = await openGateway(broker, login, { config: { data } });
    const assistant = await Assistant.connect(broker);
    await assistant.discovered(slug);
    const below = async (prefix: string) =>
      [...(await retainedOn(broker)).keys()].filter((topic) => topic.startsWith(`${prefix}/`));
    expect(await below("old")).toEqual([]);
    expect(await below("homeassistant")).toHaveLength(2);
    await second.stop();
    // `clean` knows the prefix of the last run.
    await cleanHomeAssistant({ ...login, discoveryPrefix: "another" });
    expect([...(await retainedOn(broker)).keys()]).toEqual([]);
  });

  it("that the broker does not let the gateway read is reported, with the command that helps", async () => {
    const broker = await openBroker();
    const data = dataFolder();
    const login = { broker: broker.url("ha", "ha-password") };
    const first = await openGateway(broker, { ...login, discoveryPrefix: "old" }, { config: { data } });
    await makeToken(first, ["read", "call"]);
    await first.join({ tools: [] });
    await until(async () => (await state(first, "connected"))["devices"] === 1, "the device");
    await first.stop();
    const second = await openGateway(broker, {}, { config: { data } });
    await until(
      async () => String((await state(second, "connected"))["detail"]).includes("clean --prefix old"),
      "the report",
    );
    expect(String((await state(second, "connected"))["detail"])).toContain("`old`");
    expect((await second.rest("GET", `/devices/${firstDevice}`)).status).toBe(200);
  });
});

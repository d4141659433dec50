/** Commands of Home Assistant: faults, approvals, and what it was seen to publish. */
import fs from "node:fs";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { Assistant, answer, makeToken, none, one, openBroker, openGateway } from "./house.ts";

const slug = "020000000001";
const topics = `tendon/ha/${slug}`;

/** One message of Home Assistant. Topics without `homeassistant` or `tendon` are below the device. */
interface Recorded {
  readonly says: string;
  readonly topic: string;
  readonly payload: string;
  readonly qos: 0 | 1;
  readonly retain?: boolean;
  /** Seconds. */
  readonly expiry?: number;
  readonly expect?:
    | { readonly call: string; readonly arguments: unknown }
    | { readonly problem: string }
    | { readonly republishes: true };
}

const recorded = JSON.parse(
  fs.readFileSync(new URL("recorded-commands.json", import.meta.url), "utf8"),
) as Recorded[];

describe("commands of Home Assistant", () => {
  it("as it publishes them, line by line: birth, expiry, numbers with a fraction, presses, mistakes", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker);
    const assistant = await Assistant.connect(broker);
    // Retained by mistake, before the gateway subscribes.
    const retained = { qos: 1, retain: true } as const;
    await assistant.command(`${topics}/set/volume`, "77", retained);
    await assistant.command(`${topics}/press/reboot`, "PRESS", retained);
    const volume = { type: "integer", minimum: 0, maximum: 100 };
    const set = (name: string, argument: string, schema: object) => ({
      name,
      description: "",
      inputSchema: { type: "object", properties: { [argument]: schema }, required: [argument] },
    });
    const device = await site.join({
      transport: mqttTransport,
      tools: [
        none("self.get_device_status"),
        set("self.audio_speaker.set_volume", "volume", volume),
        set("self.screen.set_theme", "theme", { type: "string" }),
        one("self.lamp.set_gamma", { type: "number", minimum: -1, maximum: 1 }),
        one("self.lamp.set_power", { type: "boolean" }),
        none("self.heater.turn_on"),
        none("self.heater.turn_off"),
        none("self.chassis.dance"),
        one("self.screen.say", { type: "string" }),
      ],
      userTools: [none("self.reboot")],
    });
    const status = { battery: { level: 80 }, audio_speaker: { volume: 5 }, screen: { theme: "light" } };
    const calls = answer(device, { "self.get_device_status": JSON.stringify(status) });
    const commands = () => calls.filter(({ name }) => name !== "self.get_device_status");
    await makeToken(site);
    await assistant.discovered(slug, ({ components }) => "battery" in components && "reboot" in components);
    expect(commands()).toEqual([]);

    const expected: unknown[] = [];
    let problems = 0;
    for (const { says, topic, payload, qos, retain = false, expiry, expect: effect } of recorded) {
      assistant.seen.length = 0;
      const isWhole = /^(homeassistant|tendon)\//.test(topic);
      const properties = expiry === undefined ? {} : { messageExpiryInterval: expiry };
      await assistant.command(isWhole ? topic : `${topics}/${topic}`, payload, { qos, retain, properties });
      if (effect === undefined) continue;
      if ("call" in effect) {
        expected.push({ name: effect.call, arguments: effect.arguments });
        await until(() => commands().length === expected.length, says);
        expect(commands().at(-1)).toEqual(expected.at(-1));
      } else if ("problem" in effect) {
        problems += 1;
        await until(() => assistant.events(`${topics}/problem`).length === 1, says);
        expect(assistant.events(`${topics}/problem`)).toMatchObject([{ code: effect.problem }]);
      } else {
        const config = `homeassistant/device/tendon_${slug}/config`;
        await until(() => assistant.seen.some((message) => message.topic === config), says);
      }
    }
    expect(commands()).toEqual(expected);
    expect([expected.length, problems]).toEqual([15, 9]);
    expect((await site.rest("GET", "/home-assistant")).body["seenAt"]).toEqual(
      expect.stringMatching(/^20.*Z$/),
    );
  });

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

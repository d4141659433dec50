/** Commands of Home Assistant: faults, approvals, and what it was seen to publish. */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { Assistant, answer, makeToken, none, one, openBroker, openGateway } from "./house.ts";

const slug = "020000000001";
const topics = `tendon/ha/${slug}`;

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

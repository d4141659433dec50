/** The connection to Home Assistant's broker over its life: births, outages, owners, selections, queues, large fleets. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { cleanHomeAssistant, examineHomeAssistant } from "@tendon/gateway";
import type { ToolDefinition } from "@tendon/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { storeFleet } from "../../packages/gateway/test/store/stored-fleet.ts";
import { until } from "../inbox.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { type RawDevice, textContent } from "../raw-device.ts";
import { firstDevice, type Site } from "../site.ts";
import { TurnMeter } from "../turn-meter.ts";
import { discoveryProblems } from "./discovery-validator.ts";
import { Assistant, makeToken, openBroker, openGateway, retainedOn, state } from "./house.ts";

const slug = "020000000001";
const topics = `tendon/ha/${slug}`;
const configTopic = `homeassistant/device/tendon_${slug}/config`;
const level = {
  name: "self.lamp.set_level",
  description: "",
  inputSchema: {
    type: "object" as const,
    properties: { value: { type: "integer", minimum: 0, maximum: 9 } },
  },
};

function join(site: Site): Promise<RawDevice> {
  return site.join({ transport: mqttTransport, tools: [level] });
}

async function answerOne(device: RawDevice): Promise<unknown> {
  const { id, message } = await device.nextRequest("tools/call");
  device.reply(id, textContent("true"));
  return message["params"];
}

describe("Home Assistant's broker", () => {
  it("gets everything again when Home Assistant has started, and nothing of its own commands", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker);
    expect(await state(site, "waiting_for_token")).toMatchObject({
      detail: expect.stringContaining("tendon token create home-assistant"),
      broker: `127.0.0.1:${broker.port}`,
    });
    await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    await join(site);
    await assistant.discovered(slug, ({ components }) => components["lamp_set_level"] !== undefined);
    const view = await state(site, "connected");
    expect(view).toMatchObject({ mqttVersion: "5", devices: 1, detail: null });
    await assistant.discovered("gateway");
    assistant.seen.length = 0;
    await assistant.command("homeassistant/status", "offline");
    await assistant.command("homeassistant/status", "online");
    for (const topic of [configTopic, "homeassistant/device/tendon_gateway/config", `${topics}/availability`])
      await until(() => assistant.seen.some((message) => message.topic === topic), `${topic} again`);
  });

  it("may be away at the start and later, and the devices come back", async () => {
    const broker = await openBroker();
    await broker.stop();
    const site = await openGateway(broker);
    await makeToken(site, ["read", "call"]);
    await join(site);
    expect((await state(site, "connecting"))["detail"]).not.toBe("");
    await broker.run();
    const assistant = await Assistant.connect(broker);
    await assistant.discovered(slug);
    await broker.stop();
    await state(site, "connecting");
    await broker.run();
    const again = await Assistant.connect(broker);
    await again.discovered(slug);
    await again.state("tendon/ha/gateway", "online");
    await site.stop();
    await again.state("tendon/ha/gateway", "offline");
  });

  it("rejects a wrong password, which the gateway reports and survives", async () => {
    const broker = await openBroker();
    const settings = { broker: broker.url("tendon", "wrong"), token: "home-assistant" };
    const site = await openGateway(broker, settings);
    await makeToken(site, ["read", "call"]);
    await until(
      async () => String((await state(site, "connecting"))["detail"]).includes("Not authorized"),
      "the reason",
    );
    expect(await examineHomeAssistant(settings)).toMatchObject({
      problem: expect.stringContaining("Not authorized"),
    });
    const right = { ...settings, broker: broker.url("ha", "ha-password") };
    expect(await examineHomeAssistant(right)).toEqual({ version: "5" });
  });

  it("has one owner among two gateways, and the other takes over", async () => {
    const broker = await openBroker();
    const first = await openGateway(broker, {}, { config: { node: "first" } });
    await makeToken(first, ["read", "call"]);
    await state(first, "connected");
    const second = await openGateway(broker, {}, { config: { node: "second" } });
    await makeToken(second, ["read", "call"]);
    const standby = await state(second, "standby");
    expect(standby["detail"]).toBe("another gateway (first) publishes on this broker");
    const assistant = await Assistant.connect(broker);
    await join(second);
    expect(assistant.retained.has(configTopic)).toBe(false);
    await first.stop();
    await state(second, "connected");
    await assistant.discovered(slug);
    await assistant.state("tendon/ha/gateway", "online");
  });

  it("has only selected devices, without those that lost their tag or were deleted meanwhile", async () => {
    const broker = await openBroker();
    const assistant = await Assistant.connect(broker);
    // Left behind by an earlier run.
    const old = "homeassistant/device/tendon_0200000000ff/config";
    await assistant.client.publishAsync(old, JSON.stringify({ origin: { name: "Tendon" }, components: {} }), {
      qos: 1,
      retain: true,
    });
    const site = await openGateway(broker, { devices: { tags: ["home"] } });
    await makeToken(site, ["read", "call"]);
    await join(site);
    await state(site, "connected");
    await assistant.gone(old);
    expect(assistant.retained.has(configTopic)).toBe(false);
    await site.rest("PATCH", `/devices/${firstDevice}`, { tags: ["home"], alias: "desk" });
    await assistant.discovered(slug, ({ device }) => device["name"] === "desk");
    await site.rest("PATCH", `/devices/${firstDevice}`, { tags: [] });
    await assistant.gone(configTopic);
    await assistant.gone(`${topics}/availability`);
  });

  it("keeps commands for a board that is away with `whenOffline: queue`, and shows the state once it is confirmed", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker, { whenOffline: "queue" });
    await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const device = await join(site);
    const found = await assistant.discovered(
      slug,
      ({ components }) => components["lamp_set_level"] !== undefined,
    );
    expect(found["availability"]).toEqual([{ topic: "tendon/ha/gateway" }]);
    expect(found).not.toHaveProperty("message_expiry_interval");
    device.cut();
    await until(async () => (await site.device(firstDevice))["online"] === false);
    await assistant.command(`${topics}/set/lamp_set_level`, "3");
    await assistant.command(`${topics}/set/lamp_set_level`, "7", {
      qos: 1,
      properties: { messageExpiryInterval: 3_600 },
    });
    const calls = async (query: string) =>
      (await site.rest("GET", `/calls?${query}`)).body["calls"] as { callId: string }[];
    await until(async () => (await calls("outcome=superseded")).length === 1, "the end of the older command");
    const queued = await calls("state=queued");
    expect(queued).toHaveLength(1);
    const { body } = await site.rest("GET", `/calls/${queued[0]?.callId}`);
    const inMs = Date.parse(String(body["expiresAt"])) - Date.now();
    expect(inMs).toBeGreaterThan(3_000_000);
    expect(inMs).toBeLessThanOrEqual(3_600_000);
    expect(assistant.retained.has(`${topics}/value/lamp_set_level`)).toBe(false);
    expect(await answerOne(await join(site))).toMatchObject({ arguments: { value: 7 } });
    await assistant.state(`${topics}/value/lamp_set_level`, "7");
  });

  it("has nothing of Tendon left after a clean", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker);
    await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    await assistant.client.publishAsync("homeassistant/device/other/config", '{"origin":{"name":"z2m"}}', {
      qos: 1,
      retain: true,
    });
    await join(site);
    await assistant.discovered(slug);
    await site.stop();
    const removed = await cleanHomeAssistant({ broker: broker.url("tendon", "the-gateways-password") });
    expect(removed).toEqual(
      expect.arrayContaining([
        configTopic,
        "homeassistant/device/tendon_gateway/config",
        "tendon/ha/gateway",
      ]),
    );
    expect([...(await retainedOn(broker)).keys()]).toEqual(["homeassistant/device/other/config"]);
  });

  it("has nothing of Tendon left either if it drops messages to a client that reads slowly", async () => {
    const broker = await openBroker("max_queued_messages 10");
    const assistant = await Assistant.connect(broker);
    const topics = Array.from({ length: 300 }, (_, at) => `tendon/ha/board${at}/state`);
    const publish = (topic: string) => assistant.client.publishAsync(topic, "{}", { qos: 1, retain: true });
    await Promise.all(topics.map(publish));
    const removed = await cleanHomeAssistant({ broker: broker.url("tendon", "the-gateways-password") });
    expect(removed.toSorted()).toEqual(topics.toSorted());
  });

  it("gets a thousand devices in many short turns of the event loop, never in one long one", async () => {
    const tools: ToolDefinition[] = Array.from({ length: 12 }, (_, at) => ({
      ...level,
      name: `self.lamp_${at}.set_level`,
      audience: "agent",
      repairs: [],
    }));
    const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-fleet-"));
    onTestFinished(() => fs.rmSync(data, { recursive: true, force: true }));
    await storeFleet(data, 1_000, tools);
    // Otherwise it drops messages to the test, which reads slowly on a loaded machine.
    const broker = await openBroker("max_queued_messages 0");
    const site = await openGateway(broker, {}, { config: { data } });
    const assistant = await Assistant.connect(broker);
    // Excludes what is loaded with the first token.
    await site.rest("POST", "/tokens", { name: "another", scopes: ["read"] });
    // Discovery, availability and firmware of each device; discovery and state of the gateway; owner and prefix.
    const isComplete = () => assistant.retained.size >= 3_004;
    const longest: number[] = [];
    // First the devices are new, then the gateway reads all that it has left before.
    for (let round = 0; round < 3; round += 1) {
      const publishing = new TurnMeter();
      const tokenId = await makeToken(site, ["read", "call"]);
      await until(isComplete, "all devices");
      expect(publishing.stop()).toBeLessThan(0.25);
      longest.push(publishing.longestMs);
      expect(await state(site, "connected")).toMatchObject({ devices: 1_000, entities: 15_000 });
      const found = [...assistant.retained].filter(([topic]) => topic.endsWith("/config"));
      const problems = found.flatMap(([topic, text]) => discoveryProblems(topic, JSON.parse(text)));
      expect([found.length, problems]).toEqual([1_001, []]);
      await site.rest("DELETE", `/tokens/${tokenId}`);
      await assistant.state("tendon/ha/gateway", "offline");
      assistant.retained.clear();
    }
    // In CPU time; the collector of garbage has a long turn now and then, but not in each round.
    expect(Math.min(...longest)).toBeLessThan(50);

    await site.stop();
    const removed = await cleanHomeAssistant({ broker: broker.url("tendon", "the-gateways-password") });
    expect(removed.length).toBeGreaterThanOrEqual(3_003);
    expect([...(await retainedOn(broker)).keys()]).toEqual([]);
  });
});

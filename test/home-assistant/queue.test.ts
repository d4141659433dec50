/** Commands for boards that are away: what became of them is shown after restarts, outages and on other nodes. */
import { describe, expect, it } from "vitest";
import { Engines } from "../cluster/nodes.ts";
import { until } from "../inbox.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { firstDevice, type Site } from "../site.ts";
import {
  Assistant,
  answer,
  dataFolder,
  makeToken,
  none,
  one,
  openBroker,
  openGateway,
  state,
  tokenName,
} from "./house.ts";

const slug = "020000000001";
const topics = `tendon/ha/${slug}`;
const whenOffline = "queue";
const tools = [
  one("self.lamp.set_level", { type: "integer", minimum: 0, maximum: 9 }),
  one("self.lamp.set_color", { type: "string", enum: ["red", "blue"] }),
  one("self.lamp.set_power", { type: "boolean" }),
  none("self.heater.turn_on"),
  none("self.heater.turn_off"),
];
const commands = { lamp_set_level: "7", lamp_set_color: "blue", lamp_set_power: "ON", heater: "OFF" };

async function joinAndLeave(site: Site, assistant: Assistant): Promise<void> {
  const device = await site.join({ tools });
  await assistant.discovered(slug, ({ components }) => components["heater"] !== undefined);
  device.cut();
  await until(async () => (await site.device(firstDevice))["online"] === false, "the board to leave");
}

async function queueAll(site: Site, assistant: Assistant): Promise<void> {
  for (const [key, payload] of Object.entries(commands))
    await assistant.command(`${topics}/set/${key}`, payload);
  await until(async () => {
    const { body } = await site.rest("GET", "/calls?state=queued");
    return (body["calls"] as unknown[]).length === Object.keys(commands).length;
  }, "the queued calls");
  for (const key of Object.keys(commands))
    expect(assistant.retained.has(`${topics}/value/${key}`)).toBe(false);
}

async function shown(assistant: Assistant): Promise<void> {
  for (const [key, payload] of Object.entries(commands))
    await assistant.state(`${topics}/value/${key}`, payload);
}

describe("queued commands of Home Assistant", () => {
  it("show their state after a restart of the gateway", async () => {
    const broker = await openBroker();
    const data = dataFolder();
    const first = await openGateway(broker, { whenOffline }, { config: { data } });
    await makeToken(first, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    await joinAndLeave(first, assistant);
    await queueAll(first, assistant);
    await first.stop();
    const second = await openGateway(broker, { whenOffline }, { config: { data } });
    const calls = answer(await second.join({ tools }));
    await shown(assistant);
    expect(calls.map(({ name }) => name)).toEqual([
      "self.lamp.set_level",
      "self.lamp.set_color",
      "self.lamp.set_power",
      "self.heater.turn_off",
    ]);
  });

  it("show their state when the broker returns, if it was away as they ended", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker, { whenOffline });
    await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    await joinAndLeave(site, assistant);
    await queueAll(site, assistant);
    await broker.stop();
    await state(site, "connecting");
    answer(await site.join({ tools }));
    await until(async () => {
      const { body } = await site.rest("GET", "/calls?outcome=ok");
      return (body["calls"] as unknown[]).length === Object.keys(commands).length;
    }, "the ends of the calls");
    await broker.run();
    await shown(await Assistant.connect(broker));
  });

  it("that expire, or that the board does not accept, are shown as problems and change nothing", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker, { whenOffline });
    await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    await joinAndLeave(site, assistant);
    const properties = { messageExpiryInterval: 1 };
    await assistant.command(`${topics}/set/lamp_set_level`, "3", { qos: 1, properties });
    const problems = async (count: number) =>
      await until(() => {
        const found = assistant.events(`${topics}/problem`);
        return found.length === count ? found : undefined;
      }, `${count} problems`);
    expect(await problems(1)).toMatchObject([
      {
        event_type: "failed",
        entity: "lamp_set_level",
        detail: "the queued command ended: the device was not online before it expired",
      },
    ]);
    await assistant.command(`${topics}/set/lamp_set_color`, "red");
    await until(
      async () => ((await site.rest("GET", "/calls?state=queued")).body["calls"] as unknown[]).length === 1,
      "the queued call",
    );
    answer(await site.join({ tools }), { "self.lamp.set_color": "false" });
    expect((await problems(2)).at(-1)).toMatchObject({ entity: "lamp_set_color", code: "device_error" });
    expect([...assistant.retained.keys()].filter((topic) => topic.includes("/value/"))).toEqual([]);
  });
});

describe("calls of other clients", () => {
  it("show their state too, soon after a call, and at once after a queued one", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker);
    await makeToken(site, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const offer = [...tools, none("self.lamp.get_level")];
    const device = await site.join({ transport: mqttTransport, tools: offer });
    const answers: Record<string, string> = { "self.lamp.get_level": "2" };
    answer(device, answers);
    await assistant.state(`${topics}/value/lamp_set_level`, "2");
    answers["self.lamp.get_level"] = "8";
    await site.call(firstDevice, "self.lamp.set_level", { value: 8 });
    await assistant.state(`${topics}/value/lamp_set_level`, "8");
    const deviceId = "02:00:00:00:00:02";
    (await site.join({ deviceId, tools })).cut();
    await until(async () => (await site.device(deviceId))["online"] === false, "the board to leave");
    const path = `/devices/${deviceId}/tools/self.lamp.set_color/call`;
    const body = { arguments: { value: "red" }, whenOffline };
    expect((await site.rest("POST", path, body)).status).toBe(202);
    answer(await site.join({ deviceId, tools }));
    await assistant.state("tendon/ha/020000000002/value/lamp_set_color", "red");
  });
});

describe("a cluster", () => {
  const engines = new Engines();

  it("shows the state of a queued command that ended on a node which does not publish", async () => {
    const broker = await openBroker();
    const login = broker.url("tendon", "the-gateways-password");
    const homeAssistant = { broker: login, token: tokenName, whenOffline } as const;
    const fleet = await engines.newFleet();
    const [one, two] = await fleet.nodes(2, { config: { homeAssistant } });
    if (one === undefined || two === undefined) throw new TypeError("two nodes were asked for");
    await makeToken(one, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const other = await until(async () => {
      const states = [one, two].map(
        async (site) => (await site.rest("GET", "/home-assistant")).body["state"],
      );
      const found = (await Promise.all(states)).join();
      return found === "connected,standby" ? two : found === "standby,connected" ? one : undefined;
    }, "one owner");
    await joinAndLeave(other, assistant);
    await queueAll(other, assistant);
    answer(await other.join({ tools }));
    await shown(assistant);
  }, 60_000);
});

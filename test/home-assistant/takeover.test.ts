/** Restart and firmware installation, and gateways that take over: from a crashed one, and in a cluster. */
import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { startServe, temporaryFolder } from "../../packages/cli/test/run-tendon.ts";
import { Engines } from "../cluster/nodes.ts";
import { handIn } from "../firmware/boards.ts";
import { makeImage } from "../firmware-image.ts";
import { askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import type { Site } from "../site.ts";
import { Assistant, makeToken, openBroker, openGateway, state, tokenName } from "./house.ts";

async function board(site: Site): Promise<VirtualDevice> {
  const device = new VirtualDevice({
    url: site.tendon.addresses.deviceWebSocket,
    board: { name: "esp-box-3" },
    timing: { rebootDelayMs: 1, bootMs: 1 },
  });
  onTestFinished(() => device.stop());
  await device.connect();
  await site.listed(device.id);
  return device;
}

describe("the entities of a board", () => {
  it("restart it, and install the firmware that the gateway offers, with `call:user`", async () => {
    const broker = await openBroker();
    const site = await openGateway(broker);
    await makeToken(site);
    expect((await handIn(site, makeImage({ version: "9.0.0" }))).status).toBe(201);
    const assistant = await Assistant.connect(broker);
    const device = await board(site);
    const slug = device.id.replaceAll(":", "");
    const at = `tendon/ha/${slug}`;
    await assistant.discovered(slug, ({ components }) => components["reboot"] !== undefined);
    expect(JSON.parse(await assistant.state(`${at}/firmware`))).toMatchObject({
      installed_version: expect.not.stringContaining("9.0.0"),
      latest_version: "9.0.0",
    });
    for (const [key, payload] of [
      ["reboot", "PRESS"],
      ["firmware", "INSTALL"],
    ] as const) {
      const restarted = device.waitFor("connected");
      await assistant.command(`${at}/press/${key}`, payload);
      await restarted;
      await site.listed(device.id);
    }
    const calls = await until(async () => {
      const { body } = await site.rest("GET", `/calls?device=${device.id}&tool=self.reboot`);
      const found = body["calls"] as unknown[];
      return found.length === 2 ? found : undefined;
    }, "the calls");
    expect(calls).toMatchObject([
      { principal: "home-assistant", outcome: "ok" },
      { principal: "home-assistant", outcome: "ok" },
    ]);
    expect(assistant.events(`${at}/problem`)).toEqual([]);
  });
});

describe("a broker with two gateways", () => {
  it("is taken over when the owner was killed", async () => {
    const broker = await openBroker();
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const password = "the-admin-token-of-the-first";
    const { process, url } = await startServe(folder.path, [], {
      TENDON_TOKEN: password,
      TENDON_NODE: "first",
      TENDON_HOME_ASSISTANT_BROKER: broker.url("tendon", "the-gateways-password"),
      TENDON_HOME_ASSISTANT_TOKEN: tokenName,
    });
    onTestFinished(async () => {
      await process.end("SIGKILL");
    });
    const authorization = `Bearer ${password}`;
    const body = JSON.stringify({ name: tokenName, scopes: ["read", "call"] });
    const headers = { authorization, "content-type": "application/json" };
    expect((await askAll(url, { method: "POST", path: "/api/v1/tokens", headers, body })).status).toBe(201);
    const assistant = await Assistant.connect(broker);
    await assistant.state("tendon/ha/gateway", "online");

    const clock = new ManualClock();
    const second = await openGateway(broker, {}, { clock, config: { node: "second" } });
    await makeToken(second, ["read", "call"]);
    expect((await state(second, "standby"))["detail"]).toContain("first");
    const asks = () => assistant.seen.filter(({ topic }) => topic === "tendon/ha/owner/ask").length;
    await until(() => asks() === 1, "the question at the start");
    await process.end("SIGKILL");
    // The broker publishes the will of the first.
    await until(() => asks() === 2, "the question after the crash");
    clock.advance(5_000);
    await state(second, "connected");
    await assistant.state("tendon/ha/gateway", "online");
    expect(JSON.parse(await assistant.state("tendon/ha/owner"))).toMatchObject({ name: "second" });
  });
});

describe("a cluster", () => {
  const engines = new Engines();

  it("publishes by one node, which reaches the boards of the others", async () => {
    const broker = await openBroker();
    const homeAssistant = { broker: broker.url("tendon", "the-gateways-password"), token: tokenName };
    const fleet = await engines.newFleet();
    const [one, two] = await fleet.nodes(2, { config: { homeAssistant } });
    if (one === undefined || two === undefined) throw new TypeError("two nodes were asked for");
    await makeToken(one, ["read", "call"]);
    const assistant = await Assistant.connect(broker);
    const [owner, other] = await until(async () => {
      const states = await Promise.all(
        [one, two].map(async (site) => (await site.rest("GET", "/home-assistant")).body["state"]),
      );
      if (states.join() === "connected,standby") return [one, two] as const;
      return states.join() === "standby,connected" ? ([two, one] as const) : undefined;
    }, "one owner");
    const device = await board(other);
    const slug = device.id.replaceAll(":", "");
    await assistant.discovered(slug, ({ components }) => "value_template" in (components["volume"] ?? {}));
    const volume = () =>
      JSON.parse(assistant.retained.get(`tendon/ha/${slug}/state`) ?? "{}").audio_speaker?.volume;
    await assistant.command(`tendon/ha/${slug}/set/volume`, "23");
    await until(() => volume() === 23, "the volume");
    assistant.seen.length = 0;
    await owner.stop();
    await state(other, "connected");
    await until(() => assistant.seen.some(({ topic }) => topic.endsWith(`${slug}/config`)), "the discovery");
    await assistant.command(`tendon/ha/${slug}/set/volume`, "24");
    await until(() => volume() === 24, "the volume by the other node");
  }, 60_000);
});

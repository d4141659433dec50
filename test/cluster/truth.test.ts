/** What nodes report about themselves and their engines: metrics, readiness and log lines. */
import { systemClock } from "@tendon/gateway";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer } from "../../packages/gateway/test/store/postgres-server.ts";
import { askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import { NatsServer } from "../nats-server.ts";
import { textContent, tool } from "../raw-device.ts";
import { firstDevice, type Site } from "../site.ts";
import { Engines } from "./nodes.ts";
import { first, fleet, online, ring, ringing } from "./process-fleet.ts";
import { ProcessNode } from "./process-node.ts";

const engines = new Engines();
let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(async () => {
  await postgres.remove();
});

describe("tendon_devices_online", () => {
  it("is the number of connections of each node, also after boards have moved to and fro", async () => {
    const { nodes } = await fleet(postgres, 2);
    for (let round = 0; round < 6; round += 1) {
      const node = nodes[round % 2] as ProcessNode;
      await ringing(node, first);
      for (const each of nodes) await until(async () => (await each.call(first, ring.name)).status === 200);
    }
    for (const [at, wanted] of [0, 1].entries())
      await until(async () => (await nodes[at]?.metric("tendon_devices_online")) === wanted, "the figures");
  }, 60_000);
});

describe("JetStream that is full", () => {
  const part = 'tendon_part_unready{part="cluster"}';

  it("makes nodes unready, with a metric and one log line; events and claims follow when there is space", async () => {
    const nats = await NatsServer.start({ fileBytes: 100_000, memoryBytes: 3_000 });
    onTestFinished(() => nats.stop());
    const env = { TENDON_CLUSTER: nats.url, TENDON_STORAGE: await postgres.newDatabase() };
    const nodes = [await ProcessNode.start(env), await ProcessNode.start(env)];
    for (const node of nodes) await node.sees(2);
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    const ids = Array.from(
      { length: 24 },
      (_, number) => `02:00:00:00:03:${String(number).padStart(2, "0")}`,
    );
    for (const id of ids) await ringing(one, id);
    const unready = await until(async () => {
      const answer = await one.ready();
      return answer.status === 503 && answer;
    }, "an unready node");
    expect(String((unready.body["problems"] as string[])[0])).toMatch(/^cluster: NATS does not store: /);
    expect(await one.metric(part)).toBe(1);
    await until(() => one.logged(50).length > 0, "a log line");
    expect(one.logged(50).filter((line) => line.includes("NATS does not store"))).toHaveLength(1);
    // Calls to its own boards continue.
    for (const id of ids) expect((await one.call(id, ring.name)).status).toBe(200);
    await nats.kill();
    await nats.startAgain({});
    for (const id of ids) await online(two, id, true);
    await until(async () => (await one.ready()).status === 200, "a ready node");
    await until(async () => (await one.metric("tendon_cluster_events_waiting")) === 0, "all events");
    expect(await one.metric("tendon_cluster_events_lost_total")).toBe(0);
  }, 90_000);
});

describe("a node whose clock is five minutes ahead", () => {
  it("fails no call in either direction, and every node reports the difference", async () => {
    const shared = await engines.newFleet();
    const ahead = { ...systemClock, now: () => systemClock.now() + 300_000 };
    const one = await shared.node({ clock: ahead });
    const two = await shared.node();
    const sites = [one, two] as const;
    const devices = [
      await one.join({ tools: [tool("a")] }),
      await two.join({ deviceId: "02:00:00:00:00:02", tools: [tool("a")] }),
    ];
    for (const [at, site] of [two, one].entries()) {
      const device = devices[at];
      if (device === undefined) throw new TypeError("two devices were joined");
      await until(async () => (await site.device(device.id))["toolCount"] === 1);
      const answer = site.call(device.id, "a", {}, { timeoutMs: 2_000 });
      device.reply((await device.nextRequest("tools/call")).id, textContent("in time"));
      expect((await answer).status).toBe(200);
    }
    for (const site of sites) {
      const { status, body } = await askAll(site.url, { path: "/readyz" });
      expect([status, body["status"]]).toEqual([200, "ready"]);
      expect(String((body["warnings"] as Record<string, string>)["clock"])).toMatch(/300 s (ahead|behind)/);
      expect(await site.metric("tendon_clock_skew_seconds")).toBeCloseTo(300, 0);
    }
    expect((await (one as Site).device(firstDevice))["online"]).toBe(true);
  });
});

describe("an outage of PostgreSQL", () => {
  it("writes one line and a count, not a line for every call", async () => {
    const { nodes } = await fleet(postgres, 1);
    const [one] = nodes as [ProcessNode];
    const device = await one.join(first, [ring]);
    const running = Array.from({ length: 20 }, (_, number) =>
      one.call(first, ring.name, { key: `running-${number}` }),
    );
    const requests = [await device.nextRequest("tools/call")];
    await until(async () => (await one.get(`/devices/${first}`))["queuedCalls"] === 19, "all in the queue");
    await postgres.stop();
    for (let number = 0; number < 20; number += 1) {
      const { id } = requests[number] ?? (await device.nextRequest("tools/call"));
      device.reply(id, textContent("rung"));
    }
    for (const { status } of await Promise.all(running)) expect(status).toBe(200);
    expect(one.logged(50).length).toBeLessThanOrEqual(1);
    await postgres.startAgain();
    await until(() => one.logged(20).some((line) => line.includes('"failedWrites":')), "the count");
  }, 60_000);
});

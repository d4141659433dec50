/** Nodes, NATS and PostgreSQL that fail, freeze and return. Each node is a process. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresServer } from "../../packages/gateway/test/store/postgres-server.ts";
import { until } from "../inbox.ts";
import { first, fleet, online, ring, ringing, second } from "./process-fleet.ts";
import { ProcessNode } from "./process-node.ts";

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(async () => {
  await postgres.remove();
});

describe("a node that is killed", () => {
  it("makes its devices offline within 15 s; calls then fail at once, and work again when the device is back", async () => {
    const { nodes } = await fleet(postgres, 2);
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    await ringing(one, first);
    await online(two, first, true);
    expect((await two.call(first, ring.name)).status).toBe(200);
    await one.kill();
    const killedAt = performance.now();
    await online(two, first, false);
    expect(performance.now() - killedAt).toBeLessThan(15_000);
    expect((await two.call(first, ring.name)).body["code"]).toBe("device_offline");
    const back = await ringing(two, first);
    await until(async () => (await two.call(first, ring.name)).status === 200);
    expect(back.calls()).toBeGreaterThan(0);
  }, 60_000);
});

describe("a node that freezes", () => {
  it("loses its device to the node that the device moved to, also after it resumes", async () => {
    const { nodes } = await fleet(postgres, 2);
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    const old = await ringing(one, first);
    await online(two, first, true);
    one.freeze();
    const fresh = await ringing(two, first);
    await until(async () => (await two.call(first, ring.name)).status === 200);
    one.thaw();
    await old.device.wire.ended;
    await until(async () => (await one.call(first, ring.name)).status === 200, "the frozen node to know");
    expect(old.calls()).toBe(0);
    expect(fresh.calls()).toBeGreaterThanOrEqual(2);
  });

  it("leaves a device alone that moved after the others had given the node up", async () => {
    const { nodes } = await fleet(postgres, 2);
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    const old = await ringing(one, first);
    await online(two, first, true);
    one.freeze();
    await online(two, first, false);
    const fresh = await ringing(two, first);
    await until(async () => (await two.call(first, ring.name)).status === 200);
    const { connectedAt } = await two.get(`/devices/${first}`);
    one.thaw();
    await old.device.wire.ended;
    for (const node of [one, two])
      await until(async () => (await node.call(first, ring.name)).status === 200, "a call");
    expect((await two.get(`/devices/${first}`))["connectedAt"]).toBe(connectedAt);
    expect(fresh.calls()).toBeGreaterThanOrEqual(3);
    expect(old.calls()).toBe(0);
  }, 60_000);

  it("does not delay its callers: they learn in time that the outcome is unknown", async () => {
    const { nodes } = await fleet(postgres, 2);
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    const { calls } = await ringing(one, first);
    await online(two, first, true);
    one.freeze();
    const { status, body } = await two.call(first, ring.name, { timeoutMs: 500 });
    expect([status, body["code"]]).toEqual([504, "device_timeout"]);
    one.thaw();
    // The late call runs once at most.
    await until(async () => (await two.call(first, ring.name)).status === 200);
    expect(calls()).toBeLessThanOrEqual(2);
  });
});

describe("NATS that is unreachable", () => {
  it("leaves each node its own devices; calls to others fail with a code until NATS is back", async () => {
    const { nats, nodes } = await fleet(postgres, 2);
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    await ringing(one, first);
    await ringing(two, second);
    await online(two, first, true);
    await online(one, second, true);
    await nats.kill();
    await until(async () => (await one.ready()).status === 503, "the node to say that NATS is away");
    expect((await one.call(first, ring.name)).status).toBe(200);
    const { body } = await one.call(second, ring.name);
    expect(body).toMatchObject({ code: "node_unreachable", sent: false, retryable: true });
    await nats.startAgain();
    await until(async () => (await one.call(second, ring.name)).status === 200, "the other node's device");
    await until(async () => (await two.call(first, ring.name)).status === 200, "and the other way");
    expect((await one.ready()).status).toBe(200);
  });
});

describe("PostgreSQL that is unreachable", () => {
  it("stops no call on any node, and has the complete history when it is back", async () => {
    const { nodes } = await fleet(postgres, 2);
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    await ringing(one, first);
    await online(two, first, true);
    await postgres.stop();
    for (const node of [one, two, one, two]) expect((await node.call(first, ring.name)).status).toBe(200);
    await postgres.startAgain();
    await until(async () => {
      const { calls = [] } = await one.get("/calls").catch(() => ({ calls: [] }));
      return (calls as unknown[]).length === 4;
    }, "four lines of history");
  }, 60_000);
});

describe("a device that is new while PostgreSQL is unreachable", () => {
  it("does not stop other nodes, and is known to them when the database is back", async () => {
    const { nodes } = await fleet(postgres, 2);
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    await postgres.stop();
    await ringing(one, second);
    expect((await one.call(second, ring.name)).status).toBe(200);
    expect((await two.get("/nodes"))["nodes"]).toHaveLength(2);
    await postgres.startAgain();
    await online(two, second, true);
    expect((await two.call(second, ring.name)).status).toBe(200);
  }, 60_000);
});

describe("a rolling restart", () => {
  it("fails calls only with retryable codes", async () => {
    const { nodes, settings } = await fleet(postgres, 3);
    const standing = () => nodes.filter(({ running }) => running);
    const over = new AbortController();
    // The device connects to any node that accepts it, as behind a load balancer.
    const living = (async () => {
      while (!over.signal.aborted) {
        const home = standing()[0];
        const board = home === undefined ? undefined : await ringing(home, first).catch(() => undefined);
        await board?.device.wire.ended;
      }
    })();
    for (const node of nodes) await online(node, first, true);
    const failures = new Map<string, boolean>();
    let done = 0;
    const calling = (async () => {
      while (!over.signal.aborted) {
        const node = standing().at(-1);
        const answer = await node?.call(first, ring.name, { timeoutMs: 2_000 }).catch(() => undefined);
        if (answer?.status === 200) done += 1;
        else if (answer !== undefined)
          failures.set(String(answer.body["code"]), answer.body["retryable"] === true);
      }
    })();
    for (const node of [...nodes]) {
      const before = done;
      await until(() => done > before, "a call to succeed");
      nodes.push(await ProcessNode.start(settings));
      await node.stop();
    }
    const last = done;
    await until(() => done > last, "a call to succeed at the end");
    over.abort();
    for (const node of standing()) await node.stop();
    await Promise.all([living, calling]);
    expect([...failures].filter(([, retryable]) => !retryable)).toEqual([]);
  }, 60_000);
});

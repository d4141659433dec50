/** Calls with an Idempotency-Key on several nodes while an engine or a node is away. Each node is a process. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresServer } from "../../packages/gateway/test/store/postgres-server.ts";
import { until } from "../inbox.ts";
import { first, fleet, online, ring, ringing } from "./process-fleet.ts";
import type { ProcessNode } from "./process-node.ts";

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(async () => {
  await postgres.remove();
});

const keys = Array.from({ length: 10 }, (_, number) => `key-${number}`);

describe("a key that is used while PostgreSQL is unreachable", () => {
  it("[CALL-7] never runs on two nodes: new keys are rejected, and succeed once when it is back", async () => {
    const { nodes } = await fleet(postgres, 2);
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    const { calls } = await ringing(one, first);
    await online(two, first, true);
    expect((await one.call(first, ring.name, { key: "before" })).status).toBe(200);
    await postgres.stop();
    const answers = await Promise.all(
      keys.flatMap((key) => nodes.map((node) => node.call(first, ring.name, { key }))),
    );
    expect(answers.map(({ body }) => body["code"])).toEqual(answers.map(() => "storage_unavailable"));
    expect(answers[0]?.body).toMatchObject({ retryable: true });
    // The node that ran a key still knows its answer, and calls without a key go on.
    expect((await one.call(first, ring.name, { key: "before" })).status).toBe(200);
    expect((await two.call(first, ring.name)).status).toBe(200);
    expect(calls()).toBe(2);
    await postgres.startAgain();
    for (const key of keys)
      for (const node of nodes)
        await until(async () => (await node.call(first, ring.name, { key })).status === 200, `key ${key}`);
    expect(calls()).toBe(2 + keys.length);
  }, 60_000);

  it("[CALL-7] whose call ended during the outage has its answer on the other node afterwards", async () => {
    const { nodes } = await fleet(postgres, 2);
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    const device = await one.join(first, [ring]);
    await online(two, first, true);
    const running = one.call(first, ring.name, { key: "during" });
    const { id } = await device.nextRequest("tools/call");
    await postgres.stop();
    device.reply(id, { content: [{ type: "text", text: "rung" }], isError: false });
    const { status, body } = await running;
    expect(status).toBe(200);
    await postgres.startAgain();
    const repeat = await until(async () => {
      const answer = await two.call(first, ring.name, { key: "during" });
      return answer.status === 200 && answer;
    }, "the answer on the other node");
    expect(repeat.body).toEqual(body);
    expect(await device.quiet()).toEqual([]);
  }, 60_000);
});

describe("a key whose call was sent to a frozen node", () => {
  it("[CALL-7] runs once when the node resumes and reports that it did not run the call", async () => {
    const { nodes } = await fleet(postgres, 2);
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    const { calls } = await ringing(one, first);
    await online(two, first, true);
    one.freeze();
    const sent = await two.call(first, ring.name, { key: "frozen", timeoutMs: 500 });
    expect(sent.body).toMatchObject({ code: "device_timeout", sent: true, retryable: true });
    // Longer than the deadline and the tolerance of ages.
    await until(async () => (await two.call(first, ring.name, { timeoutMs: 1_000 })).status === 504);
    one.thaw();
    const repeat = await until(async () => {
      const answer = await two.call(first, ring.name, { key: "frozen", timeoutMs: 500 });
      return answer.status === 200 && answer;
    }, "the repeated call");
    expect(repeat.body["result"]).toMatchObject({ isError: false });
    expect(calls()).toBe(1);
  }, 60_000);
});

describe("a key whose call may have run", () => {
  it("[CALL-7] is not retryable: a repeat gets the same answer", async () => {
    const { nodes } = await fleet(postgres, 2);
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    const device = await one.join(first, [ring]);
    await online(two, first, true);
    const call = two.call(first, ring.name, { key: "dropped" });
    await device.nextRequest("tools/call");
    device.cut();
    expect((await call).body).toMatchObject({ code: "device_disconnected", sent: true, retryable: false });
    for (const node of nodes) {
      const { body } = await node.call(first, ring.name, { key: "dropped" });
      expect(body).toMatchObject({ code: "device_disconnected", sent: true, retryable: false });
    }
  }, 60_000);
});

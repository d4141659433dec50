/** Queued calls on several nodes while nodes, boards and PostgreSQL come and go. Each node is a process. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { PostgresServer } from "../../packages/gateway/test/store/postgres-server.ts";
import type { Json } from "../http-client.ts";
import { until } from "../inbox.ts";
import { textContent } from "../raw-device.ts";
import { first, fleet, online, ring, ringing, second } from "./process-fleet.ts";
import type { ProcessNode } from "./process-node.ts";

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(async () => {
  await postgres.remove();
});

async function queue(node: ProcessNode, device: string): Promise<string> {
  const at = `/devices/${device}/tools/${ring.name}/call`;
  const { status, body } = await node.rest("POST", at, { arguments: {}, whenOffline: "queue" });
  expect(status).toBe(202);
  return String(body["callId"]);
}

async function ended(node: ProcessNode, callId: string): Promise<{ [key: string]: Json }> {
  return await until(async () => {
    const trace = await node.get(`/calls/${callId}`);
    return trace["state"] === "finished" && trace;
  }, "the end of the call");
}

/** A board that has listed its tools at a node and left again, as all nodes know. */
async function known(nodes: readonly ProcessNode[], device: string): Promise<void> {
  const board = await (nodes[0] as ProcessNode).join(device, [ring]);
  for (const node of nodes) await online(node, device, true);
  board.cut();
  for (const node of nodes) await online(node, device, false);
}

it("[QUE-1][QUE-5] a call that was asked at one node runs at another, once, and can be read at a third", async () => {
  const { nodes } = await fleet(postgres, 3);
  const [one, two, three] = nodes as [ProcessNode, ProcessNode, ProcessNode];
  await known(nodes, first);
  const ids = [await queue(one, first), await queue(three, first)];
  expect((await two.get("/calls?state=queued"))["calls"]).toHaveLength(2);
  // The board moves to another node while its calls run: the newest connection wins, and each call runs once.
  const here = await ringing(two, first);
  const there = await ringing(three, first);
  for (const id of ids) {
    const trace = await ended(one, id);
    expect(["ok", "device_disconnected"]).toContain(trace["outcome"]);
  }
  expect(here.calls() + there.calls()).toBeLessThanOrEqual(ids.length);
  expect((await three.get("/calls?state=queued"))["calls"]).toEqual([]);
}, 60_000);

it("[QUE-5] a call that ran on a node that was killed ends on the others, and does not run again", async () => {
  const { nodes } = await fleet(postgres, 2);
  const [one, two] = nodes as [ProcessNode, ProcessNode];
  await known(nodes, first);
  const [lost, next] = [await queue(one, first), await queue(one, first)];
  const board = await two.join(first, [ring]);
  await board.nextRequest("tools/call");
  await two.kill();
  expect(await until(async () => (await ended(one, lost))["outcome"], "its end")).toBe("device_disconnected");
  const again = await ringing(one, first);
  expect(await ended(one, next)).toMatchObject({ outcome: "ok" });
  expect(again.calls()).toBe(1);
}, 90_000);

it("[QUE-5] calls of a board that comes online while PostgreSQL is away wait, and live calls go on", async () => {
  const { nodes } = await fleet(postgres, 2);
  const [one, two] = nodes as [ProcessNode, ProcessNode];
  await known(nodes, first);
  const live = await ringing(one, second);
  await online(two, second, true);
  const callId = await queue(one, first);
  await postgres.stop();
  const board = await two.join(first, [ring]);
  expect((await two.call(second, ring.name)).status).toBe(200);
  expect(live.calls()).toBe(1);
  await postgres.startAgain();
  const { id } = await board.nextRequest("tools/call");
  board.reply(id, textContent("rung"));
  expect(await ended(one, callId)).toMatchObject({ outcome: "ok" });
}, 90_000);

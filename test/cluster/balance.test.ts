/** Evening out the devices of two nodes, with boards that go to the other node when they are sent away. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { run } from "../../packages/cli/test/run-tendon.ts";
import { PostgresServer } from "../../packages/gateway/test/store/postgres-server.ts";
import { until } from "../inbox.ts";
import { fleet, ring, ringing } from "./process-fleet.ts";
import { clusterToken, type ProcessNode } from "./process-node.ts";

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(async () => {
  await postgres.remove();
});

const boards = Array.from({ length: 20 }, (_, number) => `02:00:00:00:04:${String(number).padStart(2, "0")}`);

it("`tendon nodes balance` moves the excess of a full node, and nothing when the nodes are even", async () => {
  const { nodes } = await fleet(postgres, 2);
  const [one, two] = nodes as [ProcessNode, ProcessNode];
  const reasons: string[] = [];
  for (const id of boards) {
    const { device } = await ringing(one, id);
    // As through a load balancer that prefers the node with the fewest connections.
    void device.wire.ended.then(async ({ reason }) => {
      reasons.push(reason);
      if (reason.startsWith("this node has more than its share")) await ringing(two, id);
    });
  }
  const devicesOf = async (): Promise<number[]> => {
    const listed = (await one.get("/nodes"))["nodes"] as unknown as { self: boolean; devices: number }[];
    return listed.toSorted((a, b) => Number(b.self) - Number(a.self)).map(({ devices }) => devices);
  };
  await until(async () => (await devicesOf())[0] === boards.length, "all boards on one node");
  const env = { TENDON_URL: one.url, TENDON_TOKEN: clusterToken };
  const moved = await run(["nodes", "balance"], { env });
  expect([moved.code, moved.stderr]).toEqual([0, ""]);
  expect(moved.stdout).toMatch(/SENT AWAY/);
  await until(async () => (await devicesOf()).join() === "10,10", "ten boards on each node");
  expect(reasons).toHaveLength(10);
  for (const id of boards)
    for (const node of nodes) expect((await node.call(id, ring.name)).status).toBe(200);
  const again = await run(["nodes", "balance"], { env });
  expect(again.stdout).toBe("The nodes are even.\n");
  expect((await run(["nodes", "elsewhere"], { env })).code).toBe(2);
}, 60_000);

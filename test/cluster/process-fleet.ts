/** Nodes as processes on one NATS, with devices that answer calls. */
import { onTestFinished } from "vitest";
import type { PostgresServer } from "../../packages/gateway/test/store/postgres-server.ts";
import { until } from "../inbox.ts";
import { NatsServer } from "../nats-server.ts";
import { textContent, tool } from "../raw-device.ts";
import { ProcessNode } from "./process-node.ts";

/** Idempotent, so that every failure of the gateway is retryable. */
export const ring = tool("self.set_bell");
export const [first, second] = ["02:00:00:00:00:01", "02:00:00:00:00:02"] as const;

export async function fleet(postgres: PostgresServer, count: number, env: Record<string, string> = {}) {
  const nats = await NatsServer.start();
  onTestFinished(() => nats.stop());
  const storage = await postgres.newDatabase();
  const settings = { TENDON_CLUSTER: nats.url, TENDON_STORAGE: storage, ...env };
  const nodes: ProcessNode[] = [];
  for (let number = 0; number < count; number += 1) nodes.push(await ProcessNode.start(settings));
  for (const node of nodes) await node.sees(count);
  return { nats, storage, nodes, settings };
}

/** A device that answers every call, and counts them. */
export async function ringing(node: ProcessNode, deviceId: string) {
  const device = await node.join(deviceId, [ring]);
  let calls = 0;
  const serving = (async () => {
    for (;;) {
      const { id } = await device.nextRequest("tools/call");
      calls += 1;
      device.reply(id, textContent("rung"));
    }
  })();
  serving.catch(() => {});
  return { device, calls: () => calls };
}

export async function online(node: ProcessNode, device: string, wanted: boolean): Promise<void> {
  await until(async () => {
    const { online: is, toolCount } = await node.get(`/devices/${device}`);
    return is === wanted && (!wanted || toolCount === 1);
  }, `online: ${wanted}`);
}

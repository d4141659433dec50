import type { NodeList } from "@tendon/protocol";
import { GatewayClient } from "../gateway-client.ts";
import { ago, print, printJson, printTable } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

export async function nodes(options: TargetOptions & { readonly json?: boolean }): Promise<void> {
  const list = await new GatewayClient(readTarget(options)).get<NodeList>("/nodes");
  if (options.json === true) {
    printJson(list);
    return;
  }
  const now = Date.now();
  await printTable(
    ["NODE", "ID", "VERSION", "STARTED", "DEVICES", "STATE"],
    list.nodes.map(({ name, id, version, startedAt, devices, draining, self }) => [
      self ? `${name} (this one)` : name,
      id,
      version,
      ago(startedAt, now),
      String(devices),
      draining ? "draining" : "up",
    ]),
  );
  const { storage, cluster } = list.engines;
  print(`storage: ${storage.kind}, ${storage.connected ? "connected" : "NOT CONNECTED"}`);
  if (cluster !== null)
    print(`NATS: ${cluster.server}, ${cluster.connected ? "connected" : "NOT CONNECTED"}`);
}

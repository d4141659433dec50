import type { NodeBalanceList, NodeList } from "@tendon/protocol";
import { GatewayClient } from "../gateway-client.ts";
import { ago, complain, print, printJson, printTable } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

type NodesOptions = TargetOptions & { readonly json?: boolean };

const pollMs = 2_000;

/** Evens out the devices of the nodes, and waits until the boards have moved. */
export async function balanceNodes(options: NodesOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const plan = await client.post<NodeBalanceList>("/nodes/balance", undefined);
  const sent = plan.nodes.reduce((sum, { moving }) => sum + moving, 0);
  for (let left = sent; left > 0; ) {
    if (process.stderr.isTTY) complain(`${left} boards on their way …`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    const now = await client.get<NodeList>("/nodes");
    left = now.nodes.reduce((sum, { moving }) => sum + moving, 0);
  }
  if (options.json === true) {
    printJson(plan);
    return;
  }
  const now = await client.get<NodeList>("/nodes");
  const after = new Map(now.nodes.map(({ id, devices }) => [id, devices]));
  if (plan.nodes.length === 0) print("This gateway is a single node: there is nothing to even out.");
  else if (sent === 0) print("The nodes are even.");
  else {
    await printTable(
      ["NODE", "DEVICES BEFORE", "SHARE", "SENT AWAY", "DEVICES NOW"],
      plan.nodes.map(({ id, name, devices, target, moving }) =>
        [name, devices, target, moving, after.get(id) ?? "gone"].map(String),
      ),
    );
  }
}

export async function nodes(options: NodesOptions): Promise<void> {
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

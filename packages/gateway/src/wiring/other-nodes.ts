import type { Cluster } from "../cluster/cluster.ts";

/** A node that does not answer within this time is left out. */
const answerMs = 1_000;

/** The answers of the other nodes. Leaves out nodes that fail, and answers that are `null`. */
export async function askOtherNodes(cluster: Cluster, topic: string, body: unknown): Promise<unknown[]> {
  const others = cluster.nodes().filter(({ instance }) => instance !== cluster.instance);
  const answers = await Promise.all(others.map(({ instance }) => ask(cluster, instance, topic, body)));
  return answers.filter((answer) => answer !== undefined && answer !== null);
}

async function ask(cluster: Cluster, node: string, topic: string, body: unknown): Promise<unknown> {
  try {
    return await cluster.rpc.askNode(node, topic, body, { timeoutMs: answerMs });
  } catch {
    // The node has stopped or is unreachable.
    return undefined;
  }
}

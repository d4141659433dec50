/** Recent and running calls and photos, which each node has in memory, for the readers on all nodes. */
import { isObject } from "@tendon/protocol";
import type { Calls, History, PhotoAccess, RecentCall, RunningCall } from "../calls/calls.ts";
import type { Cluster } from "../cluster/cluster.ts";

/** A node that does not answer within this time is left out. */
const answerMs = 1_000;

export function shareCalls(
  cluster: Cluster,
  { calls, history, photos }: { calls: Calls; history: History; photos: PhotoAccess },
): void {
  const { rpc } = cluster;
  rpc.serveNode("call-traces", async (body) =>
    textsIn(body, "callIds").flatMap((callId) => {
      const trace = calls.traces.of(callId);
      return trace === undefined ? [] : [[callId, trace]];
    }),
  );
  rpc.serveNode("running-calls", async () => calls.running.list());
  rpc.serveNode("call-photo", async (body) => {
    const [device = "", callId = ""] = textsIn(body, "photo");
    return (await photos.ownOfCall(device, callId)) ?? null;
  });
  // Safe: only the handlers above answer, and all nodes run the same version.
  const askAll = async (topic: string, body: unknown) =>
    (await Promise.all(others(cluster).map((node) => ask(cluster, node, topic, body)))).filter(
      (answer) => answer !== undefined && answer !== null,
    );
  history.shareWith({
    async traces(callIds) {
      const found = (await askAll("call-traces", { callIds })) as [string, RecentCall][][];
      return new Map(found.flat());
    },
    async running() {
      return ((await askAll("running-calls", {})) as RunningCall[][]).flat();
    },
  });
  photos.shareWith({
    async ofCall(device, callId) {
      const found = await askAll("call-photo", { photo: [device, callId] });
      return found[0] as Awaited<ReturnType<PhotoAccess["ownOfCall"]>>;
    },
  });
}

function others(cluster: Cluster): string[] {
  return cluster.nodes().flatMap(({ instance }) => (instance === cluster.instance ? [] : [instance]));
}

async function ask(cluster: Cluster, node: string, topic: string, body: unknown): Promise<unknown> {
  try {
    return await cluster.rpc.askNode(node, topic, body, { timeoutMs: answerMs });
  } catch {
    // The node has stopped or is unreachable.
    return undefined;
  }
}

function textsIn(body: unknown, key: string): string[] {
  const texts = isObject(body) ? body[key] : undefined;
  return Array.isArray(texts) ? texts.filter((text) => typeof text === "string") : [];
}

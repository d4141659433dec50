/** Recent and running calls and photos, which each node has in memory, for the readers on all nodes. */
import { isObject } from "@tendon/protocol";
import type { Calls, History, PhotoAccess, RecentCall, RunningCall } from "../calls/calls.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { askOtherNodes } from "./other-nodes.ts";

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
  const askAll = (topic: string, body: unknown) => askOtherNodes(cluster, topic, body);
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

function textsIn(body: unknown, key: string): string[] {
  const texts = isObject(body) ? body[key] : undefined;
  return Array.isArray(texts) ? texts.filter((text) => typeof text === "string") : [];
}

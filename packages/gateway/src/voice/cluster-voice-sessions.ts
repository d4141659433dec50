import type { Cluster } from "../cluster/cluster.ts";
import type { VoiceRelay } from "./relay.ts";

type VoiceSessions = ReturnType<VoiceRelay["sessions"]>;

/** The result omits the sessions of a node that does not answer within this time. */
const answerMs = 1_000;

/** A node of an older version does not report the session ids. */
const withoutIds = { sessionId: null, upstreamSessionId: null };

/** The voice sessions of all nodes. */
export function clusterVoiceSessions(
  cluster: Cluster | undefined,
  relay: VoiceRelay | undefined,
): () => Promise<VoiceSessions> {
  const here = (): VoiceSessions => relay?.sessions() ?? [];
  if (cluster === undefined) return async () => here();
  cluster.rpc.serveNode("voice-sessions", async () => here());
  const at = async (node: string): Promise<VoiceSessions> => {
    try {
      const answer = await cluster.rpc.askNode(node, "voice-sessions", {}, { timeoutMs: answerMs });
      return (answer as VoiceSessions).map((session) => ({ ...withoutIds, ...session }));
    } catch {
      // The node has stopped or is unreachable.
      return [];
    }
  };
  return async () => {
    const others = cluster.nodes().filter(({ instance }) => instance !== cluster.instance);
    const theirs = await Promise.all(others.map(({ instance }) => at(instance)));
    return [...here(), ...theirs.flat()];
  };
}

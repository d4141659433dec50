import type { Cluster } from "../cluster/cluster.ts";
import type { VoiceRelay } from "../voice/voice.ts";

type Talks = ReturnType<VoiceRelay["sessions"]>;

/** A node that does not answer in this time has its talks left out; whoever looks, looks again soon. */
const answerMs = 1_000;

/** The talks of all nodes: a person at any of them sees every board that talks. */
export function talksEverywhere(
  cluster: Cluster | undefined,
  relay: VoiceRelay | undefined,
): () => Promise<Talks> {
  const here = (): Talks => relay?.sessions() ?? [];
  if (cluster === undefined) return async () => here();
  cluster.rpc.serveNode("talks", async () => here());
  const at = async (node: string): Promise<Talks> => {
    try {
      return (await cluster.rpc.askNode(node, "talks", {}, { timeoutMs: answerMs })) as Talks;
    } catch {
      // It has gone, or cannot be reached: so have its talks, as far as anybody here can tell.
      return [];
    }
  };
  return async () => {
    const others = cluster.nodes().filter(({ instance }) => instance !== cluster.instance);
    const theirs = await Promise.all(others.map(({ instance }) => at(instance)));
    return [...here(), ...theirs.flat()];
  };
}

import { normaliseDeviceId } from "@tendon/protocol";
import type { Principal } from "../access/access.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { SessionIndex } from "./session-index.ts";

/** Of all nodes but this one. */
interface OtherNodes {
  device(id: string): Promise<string | undefined>;
  devicesOfVoice(id: string): Promise<string[]>;
}

const sessionTopic = "device-of-session";
const voiceSessionTopic = "devices-of-voice-session";
const answerMs = 1_000;

/** Voice servers and gateways of the field make session ids such as `uuid_6825ddbb4d44`. */
const macAtEnd = /_([0-9a-f]{2}(?:[:_-]?[0-9a-f]{2}){5})$/i;

/** [APP-2] Finds the device of a session id, on any node. */
export class SessionFinder {
  readonly #index: SessionIndex;
  readonly #visible: (principal: Principal, device: string) => boolean;
  #others: OtherNodes | undefined;

  constructor(index: SessionIndex, visible: (principal: Principal, device: string) => boolean) {
    this.#index = index;
    this.#visible = visible;
  }

  join(cluster: Cluster): void {
    this.#others = otherNodes(cluster, this.#index);
  }

  /**
   * The device that the principal may see and whose session has this id: at the gateway, or else at its voice server, or
   * else with the MAC address at its end. `undefined` if several devices have the same id at their voice servers.
   */
  async find(principal: Principal, id: string): Promise<string | undefined> {
    if (id === "") return undefined;
    const seen = (device: string) => this.#visible(principal, device);
    const here = this.#index.device(id);
    if (here !== undefined) return seen(here) ? here : undefined;
    const [there, voice = []] = await Promise.all([
      this.#others?.device(id),
      this.#others?.devicesOfVoice(id),
    ]);
    if (there !== undefined) return seen(there) ? there : undefined;
    const matches = new Set([...this.#index.devicesOfVoice(id), ...voice].filter(seen));
    if (matches.size > 0) return matches.size === 1 ? [...matches][0] : undefined;
    const named = normaliseDeviceId(macAtEnd.exec(id)?.[1] ?? "");
    return named !== undefined && seen(named) ? named : undefined;
  }
}

function otherNodes(cluster: Cluster, index: SessionIndex): OtherNodes {
  const { rpc } = cluster;
  rpc.serveNode(sessionTopic, async (id) => index.device(String(id)) ?? null);
  rpc.serveNode(voiceSessionTopic, async (id) => index.devicesOfVoice(String(id)));
  const askAll = async (topic: string, id: string): Promise<unknown[]> => {
    const others = cluster.nodes().filter(({ instance }) => instance !== cluster.instance);
    const options = { timeoutMs: answerMs };
    // A node that has stopped, is unreachable or has an older version finds nothing.
    const answers = others.map(({ instance }) => rpc.askNode(instance, topic, id, options).catch(() => null));
    return await Promise.all(answers);
  };
  const isText = (value: unknown) => typeof value === "string";
  return {
    device: async (id) => (await askAll(sessionTopic, id)).find(isText),
    devicesOfVoice: async (id) => (await askAll(voiceSessionTopic, id)).flat().filter(isText),
  };
}

/**
 * MCP endpoints of voice agents. Outgoing: the gateway dials an agent's address and is its MCP server. Incoming: the
 * gateway is the endpoint, for tool providers and voice servers that dial in.
 */
import type { EndpointList } from "@tendon/protocol";
import { type Principal, requireEveryDevice, requireScope } from "../../access/access.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import { OutgoingEndpoints, type OutgoingEndpointsDependencies } from "./outgoing-endpoints.ts";

export interface EndpointsDependencies extends OutgoingEndpointsDependencies {
  readonly enabled: boolean;
}

/** The answer omits a node that does not answer within this time. */
const answerMs = 1_000;

export class Endpoints {
  readonly #outgoing: OutgoingEndpoints;
  readonly #cluster: Cluster | undefined;
  readonly #enabled: boolean;

  constructor(dependencies: EndpointsDependencies) {
    this.#outgoing = new OutgoingEndpoints(dependencies);
    this.#cluster = dependencies.cluster;
    this.#enabled = dependencies.enabled;
    this.#cluster?.rpc.serveNode("endpoints", async () => this.#here());
  }

  start(): void {
    this.#outgoing.start();
  }

  async stop(): Promise<void> {
    await this.#outgoing.stop();
  }

  warning(): string | undefined {
    return this.#outgoing.warning();
  }

  /** Of all nodes. */
  async list(principal: Principal): Promise<EndpointList> {
    requireScope(principal, "admin");
    requireEveryDevice(principal, "the list of endpoints");
    const cluster = this.#cluster;
    const others = cluster?.nodes().filter(({ instance }) => instance !== cluster.instance) ?? [];
    const theirs = await Promise.all(others.map(({ instance }) => this.#at(instance)));
    const all = [this.#here(), ...theirs.flatMap((list) => list ?? [])];
    return {
      endpoints: all.flatMap(({ endpoints }) => endpoints),
      incoming: {
        enabled: this.#enabled,
        callers: all.flatMap(({ incoming }) => incoming.callers),
        providers: all.flatMap(({ incoming }) => incoming.providers),
      },
    };
  }

  #here(): EndpointList {
    return {
      endpoints: this.#outgoing.views(),
      incoming: { enabled: this.#enabled, callers: [], providers: [] },
    };
  }

  async #at(node: string): Promise<EndpointList | undefined> {
    try {
      return (await this.#cluster?.rpc.askNode(
        node,
        "endpoints",
        {},
        { timeoutMs: answerMs },
      )) as EndpointList;
    } catch {
      // The node has stopped, or is of an older version.
      return undefined;
    }
  }
}

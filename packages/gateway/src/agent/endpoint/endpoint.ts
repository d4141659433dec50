/**
 * MCP endpoints of voice agents. Outgoing: the gateway dials an agent's address and is its MCP server. Incoming: the
 * gateway is the endpoint, for tool providers and voice servers that dial in.
 */

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { EndpointList } from "@tendon/protocol";
import { type Principal, requireEveryDevice, requireScope } from "../../access/access.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import type { Http } from "../http/http.ts";
import { type IncomingDependencies, IncomingEndpoint } from "./incoming-endpoint.ts";
import { OutgoingEndpoints, type OutgoingEndpointsDependencies } from "./outgoing-endpoints.ts";

export { readAddressToken } from "./address-token.ts";

export type EndpointsDependencies = OutgoingEndpointsDependencies & IncomingDependencies;

/** The answer omits a node that does not answer within this time. */
const answerMs = 1_000;

export class Endpoints {
  readonly #outgoing: OutgoingEndpoints;
  readonly #cluster: Cluster | undefined;
  readonly #incoming: IncomingEndpoint;

  constructor(dependencies: EndpointsDependencies) {
    this.#outgoing = new OutgoingEndpoints(dependencies);
    this.#cluster = dependencies.cluster;
    this.#incoming = new IncomingEndpoint(dependencies);
    this.#cluster?.rpc.serveNode("endpoints", async () => this.#here());
  }

  start(): void {
    this.#outgoing.start();
  }

  /** Takes an upgrade at the gateway's own endpoint; returns false for other paths. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    return this.#incoming.upgrade(request, socket, head);
  }

  routes(http: Http): void {
    this.#incoming.routes(http);
  }

  async stop(): Promise<void> {
    this.#incoming.stop();
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
        enabled: this.#here().incoming.enabled,
        callers: all.flatMap(({ incoming }) => incoming.callers),
        providers: all.flatMap(({ incoming }) => incoming.providers),
      },
    };
  }

  #here(): EndpointList {
    return { endpoints: this.#outgoing.views(), incoming: this.#incoming.view() };
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

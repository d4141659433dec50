/**
 * Bridges MCP over stdio to the running gateway. Messages of both protocol versions pass unchanged. Several bridges can
 * share one gateway, and each reconnects after a restart of the gateway.
 */
import { GatewayConnection, type GatewayConnectionOptions } from "./gateway-connection.ts";
import { LegacyLink } from "./legacy-link.ts";
import { type Message, methodOf, parseMessage, revisionOf } from "./message.ts";
import { ModernLink } from "./modern-link.ts";
import { PacedOutput } from "./paced-output.ts";

export class McpBridge {
  readonly #modern: ModernLink;
  readonly #legacy: LegacyLink;
  readonly #output: PacedOutput;

  constructor(options: GatewayConnectionOptions, print: (message: Message) => void) {
    const gateway = new GatewayConnection(options);
    this.#output = new PacedOutput(print);
    const write = (message: Message) => this.#output.send(message);
    this.#modern = new ModernLink(gateway, write);
    this.#legacy = new LegacyLink(gateway, write);
  }

  /** Handles one line of the client. Replies are written later. */
  receive(line: string): void {
    const message = parseMessage(line);
    if (message === undefined) {
      const error = { code: -32700, message: "not a JSON-RPC message" };
      this.#output.send({ jsonrpc: "2.0", id: null, error });
      return;
    }
    const modern = revisionOf(message) !== undefined && methodOf(message) !== "initialize";
    void (modern ? this.#modern : this.#legacy).receive(message);
  }

  close(): void {
    this.#modern.close();
    this.#legacy.close();
    this.#output.end();
  }
}

/**
 * MCP over stdio, led to the running gateway and back: messages pass as they are, in either era. Several bridges share
 * one gateway, so none of them fights for devices; a gateway that restarts is found again.
 */
import { type DoorOptions, GatewayDoor } from "./gateway-door.ts";
import { LegacyLink } from "./legacy-link.ts";
import { type Message, methodOf, parseMessage, revisionOf } from "./message.ts";
import { ModernLink } from "./modern-link.ts";
import { PacedOutput } from "./paced-output.ts";

export class McpBridge {
  readonly #modern: ModernLink;
  readonly #legacy: LegacyLink;
  readonly #output: PacedOutput;

  constructor(options: DoorOptions, print: (message: Message) => void) {
    const door = new GatewayDoor(options);
    this.#output = new PacedOutput(print);
    const write = (message: Message) => this.#output.send(message);
    this.#modern = new ModernLink(door, write);
    this.#legacy = new LegacyLink(door, write);
  }

  /** One line of the client. What it leads to comes in its own time. */
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

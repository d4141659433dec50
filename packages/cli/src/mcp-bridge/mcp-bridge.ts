/**
 * MCP over stdio, led to the running gateway and back: messages pass as they are, in either era. Several bridges share
 * one gateway, so none of them fights for devices; a gateway that restarts is found again.
 */
import { type DoorOptions, GatewayDoor } from "./gateway-door.ts";
import { LegacyLink } from "./legacy-link.ts";
import { type Message, methodOf, parseMessage, revisionOf } from "./message.ts";
import { ModernLink } from "./modern-link.ts";

export class McpBridge {
  readonly #modern: ModernLink;
  readonly #legacy: LegacyLink;
  readonly #write: (message: Message) => void;

  constructor(options: DoorOptions, write: (message: Message) => void) {
    const door = new GatewayDoor(options);
    this.#write = write;
    this.#modern = new ModernLink(door, write);
    this.#legacy = new LegacyLink(door, write);
  }

  /** One line of the client. What it leads to comes in its own time. */
  receive(line: string): void {
    const message = parseMessage(line);
    if (message === undefined) {
      this.#write({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "not a JSON-RPC message" } });
      return;
    }
    const modern = revisionOf(message) !== undefined && methodOf(message) !== "initialize";
    void (modern ? this.#modern : this.#legacy).receive(message);
  }

  close(): void {
    this.#modern.close();
    this.#legacy.close();
  }
}

/**
 * JSON lines, the protocol of the simulated home [PRC-2…5]: the process sends `ready` with its tools, receives
 * `call`, replies `result` or `error` by id, and exits on `quit`.
 */
import { decodeServerLine, encodeCall, encodeQuit, type JsonObject } from "@tendon/protocol";
import { listingOf } from "./listing.ts";
import type { ProcessDialect, ProcessSession } from "./process-session.ts";

export class LineDialect implements ProcessDialect {
  readonly #session: ProcessSession;

  constructor(session: ProcessSession) {
    this.#session = session;
  }

  receive(line: string): void {
    const session = this.#session;
    const decoded = decodeServerLine(line);
    if (decoded.outcome !== "ok") {
      if (decoded.outcome === "unknown") session.notUnderstood("unknown", `unknown type \`${decoded.kind}\``);
      else session.notUnderstood("invalid", decoded.reason, decoded.replyTo);
      return;
    }
    const { message } = decoded;
    switch (message.type) {
      case "ready": {
        const list = () =>
          session.ready(
            { protocolVersion: undefined, board: undefined, firmware: message.version },
            listingOf(message.tools.map(standardNames)),
          );
        if (session.isReady) session.paceListing(list);
        else list();
        return;
      }
      case "result":
        if (typeof message.id === "string") this.#textId(message.id);
        else session.settle({ kind: "result", id: message.id, result: message.result });
        return;
      case "error":
        if (message.id === null) session.notUnderstood("unknown", message.error);
        else if (typeof message.id === "string") this.#textId(message.id);
        else session.settle({ kind: "error", id: message.id, message: message.error, salvaged: false });
        return;
      case "event":
        session.notified(message.event, message.data);
        return;
      default:
        message satisfies never;
    }
  }

  #textId(id: string): void {
    this.#session.notUnderstood("invalid", "`id` is text instead of the call's number", Number(id));
  }

  send(id: number, method: string, params: JsonObject): boolean {
    if (method !== "tools/call") {
      // Settled after the request is recorded as sent, as any reply is.
      const message = `Method not implemented: ${method}`;
      queueMicrotask(() => this.#session.settle({ kind: "error", id, message, salvaged: false }));
      return true;
    }
    return this.#session.write(encodeCall(id, String(params["name"]), params["arguments"] as JsonObject));
  }

  async notify(): Promise<never> {
    throw new TypeError("JSON lines have no notifications");
  }

  abandon(): void {
    // The protocol has no cancellation. A late reply is recognised by its id.
  }

  requestExit(): void {
    this.#session.write(encodeQuit());
  }

  ended(): void {
    // There is nothing to release.
  }
}

function standardNames(entry: unknown): unknown {
  if (typeof entry !== "object" || entry === null) return entry;
  const { input_schema: inputSchema, output_schema: outputSchema, ...rest } = entry as JsonObject;
  return { ...rest, inputSchema, ...(outputSchema === undefined ? {} : { outputSchema }) };
}

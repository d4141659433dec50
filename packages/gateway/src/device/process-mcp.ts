/** Standard MCP over a process's pipes [PRC-8]. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isObject, parseJson } from "@tendon/protocol";
import { messageOf } from "../errors.ts";
import { McpDialect, type McpEra } from "./mcp-dialect.ts";
import { McpPipes } from "./mcp-pipes.ts";
import type { ProcessDialect, ProcessSession } from "./process-session.ts";

export class ProcessMcp extends McpDialect implements ProcessDialect {
  readonly #pipes: McpPipes;
  readonly #process: ProcessSession;

  constructor(session: ProcessSession, era: McpEra) {
    const pipes = new McpPipes((text) => session.write(text));
    super(session, {
      era,
      open: () => pipes,
      failureOf: (error) => ({ kind: "answer", message: messageOf(error) }),
      setupFailed(error) {
        session.events.setupFailed(session.deviceId, "initialize", messageOf(error));
        session.close(1008, `the process does not answer as an MCP server (${messageOf(error)})`);
      },
    });
    this.#pipes = pipes;
    this.#process = session;
  }

  receive(line: string): void {
    const parsed = parseJson(line);
    if (isObject(parsed)) {
      const message = parsed as unknown as JSONRPCMessage;
      this.received(message);
      this.#pipes.receive(message);
    } else this.#process.notUnderstood("invalid", "a line that is not JSON");
  }

  /** A standard MCP server exits when its input is closed. */
  requestExit(): void {
    this.#process.endInput();
  }
}

/** The lines of programs that run as devices: JSON lines, and MCP over pipes. */
import net from "node:net";
import { seeds } from "../seeds.ts";
import { must } from "../target.ts";
import type { Entry, Sender } from "./entry.ts";
import { ask, asObject, outcomeOf } from "./http.ts";

/** What a program says by itself. */
interface Dialect {
  /** At its start, and again if its tool was replaced. */
  readonly first: string;
  /** To a line of the gateway. `call`: the line is a call of its tool. */
  answer(line: string): { readonly text: string; readonly call: boolean } | undefined;
}

const name = "any";

const jsonLines: Dialect = {
  first: JSON.stringify({
    type: "ready",
    version: "1",
    tools: [{ name, description: "x", input_schema: { type: "object", properties: {} } }],
  }),
  answer(line) {
    const { type, id } = asObject(line);
    if (type !== "call") return undefined;
    return { call: true, text: JSON.stringify({ type: "result", id, ok: true, result: { ok: true } }) };
  },
};

const results: Readonly<Record<string, unknown>> = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: "piped", version: "1" },
  },
  "tools/list": { tools: [{ name, description: "x", inputSchema: { type: "object", properties: {} } }] },
  "tools/call": { content: [{ type: "text", text: "yes" }] },
  ping: {},
};

const mcp: Dialect = {
  first: JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }),
  answer(line) {
    const { id, method } = asObject(line);
    if (id === undefined || typeof method !== "string") return undefined;
    const result = results[method];
    const error = { code: -32_601, message: "Method not found" };
    const text = JSON.stringify({ jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) });
    return { text, call: method === "tools/call" };
  },
};

/** Waits for the program that the gateway runs, and speaks for it. */
class PipedProgram {
  readonly #server = net.createServer();
  readonly #dialect: Dialect;
  #socket: net.Socket | undefined;
  #text = "";
  #connected: (() => void)[] = [];
  /** What the program says to a call, before its own answer. */
  before: Buffer = Buffer.alloc(0);

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#server.on("connection", (socket) => {
      this.#socket = socket;
      this.#text = "";
      socket.on("error", () => undefined);
      socket.on("data", (chunk) => this.#receive(chunk.toString()));
      socket.write(`${dialect.first}\n`);
      for (const done of this.#connected.splice(0)) done();
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** Resolves when the gateway runs the program. */
  async running(): Promise<void> {
    if (this.#socket !== undefined && !this.#socket.destroyed) return;
    await new Promise<void>((resolve) => this.#connected.push(resolve));
  }

  /** Says it without a call, and lists its tool again, which another list has replaced. */
  say(input: Buffer): void {
    this.#socket?.write(input);
    this.#socket?.write(`\n${this.#dialect.first}\n`);
  }

  close(): void {
    this.#socket?.destroy();
    this.#server.close();
  }

  #receive(text: string): void {
    this.#text += text;
    const lines = this.#text.split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) {
      const answer = this.#dialect.answer(line);
      if (answer?.call === true) this.#socket?.write(Buffer.concat([this.before, Buffer.from("\n")]));
      if (answer !== undefined) this.#socket?.write(`${answer.text}\n`);
    }
  }
}

function entryOf(entry: string, alias: string, program: PipedProgram, lines: readonly Buffer[]): Entry {
  return {
    name: entry,
    workers: 1,
    maxBytes: 128 * 1024,
    seeds: () => lines,
    async open(site): Promise<Sender> {
      let isListed = true;
      return {
        async send(input) {
          await program.running();
          if (isListed) program.before = input;
          else program.say(input);
          const answered = await ask(site.url, {
            method: "POST",
            path: `/api/v1/devices/${alias}/tools/${name}/call`,
            headers: { authorization: `Bearer ${site.adminToken}`, "content-type": "application/json" },
            body: '{"arguments":{},"timeoutMs":1000}',
          });
          must(answered !== undefined, "a call of a program is answered");
          const outcome = outcomeOf(answered);
          isListed = outcome === "ok";
          return outcome;
        },
        close: () => undefined,
      };
    },
  };
}

const mcpLines = [
  { jsonrpc: "2.0", id: 3, result: { content: [{ type: "text", text: "x" }], isError: false } },
  { jsonrpc: "2.0", id: 3, error: { code: -32_000, message: "x", data: { a: 1 } } },
  { jsonrpc: "2.0", method: "notifications/tools/list_changed" },
  { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 3, progress: 1, total: 2 } },
  { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } },
  { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 3, reason: "x" } },
  { jsonrpc: "2.0", id: "q", method: "elicitation/create", params: { message: "?", requestedSchema: {} } },
  { jsonrpc: "2.0", id: "q", method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } },
  { jsonrpc: "2.0", id: "q", method: "roots/list" },
].map((message) => Buffer.from(JSON.stringify(message)));

/** The programs of a gateway under test, and their entry points. */
export class Programs {
  readonly #lines = new PipedProgram(jsonLines);
  readonly #mcp = new PipedProgram(mcp);
  readonly entries: readonly Entry[] = [
    entryOf("program-lines", "program", this.#lines, seeds.lines),
    entryOf("program-mcp", "mcp-program", this.#mcp, [...mcpLines, ...seeds.requests.slice(0, 20)]),
  ];

  /** The ports for `pipe.mjs`: of JSON lines, and of MCP. */
  async listen(): Promise<readonly [lines: number, mcp: number]> {
    return [await this.#lines.listen(), await this.#mcp.listen()];
  }

  close(): void {
    this.#lines.close();
    this.#mcp.close();
  }
}

export const programEntryNames = ["program-lines", "program-mcp"];

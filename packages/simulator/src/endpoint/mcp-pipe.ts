/**
 * `mcp_pipe.py` with a small MCP server behind it: dials an endpoint, and sends each line that the server prints as a frame
 * with its newline. Its pause before a new connection doubles from 1 s to 600 s and is never reset.
 */
import { WebSocket } from "ws";
import { type Clock, systemClock, Timers } from "../clock.ts";
import { SimulatorError } from "../errors.ts";

export const pipeFaults = {
  noise: "the server prints lines that are not JSON",
  "dead-child": "the server dies after the first call, and the socket stays open",
  "slow-start": "the server needs 20 s for its first answer",
  "failed-start": "the server answers initialize with an error, in Chinese",
  flood: "the server prints without end",
} as const;

export type PipeEvent =
  | { readonly kind: "connected" }
  | { readonly kind: "called"; readonly tool: string }
  | { readonly kind: "disconnected"; readonly code: number; readonly againInMs: number };

export interface PipeOptions {
  readonly url: string;
  readonly name?: string;
  readonly faults?: readonly string[];
  readonly onEvent?: (event: PipeEvent) => void;
  readonly clock?: Clock;
}

const firstPauseMs = 1_000;
const maxPauseMs = 600_000;
const slowStartMs = 20_000;
const floodEveryMs = 100;
const floodLines = 2_000;
const startFailure = "无法启动：缺少依赖项，请先安装所需的软件包，然后重新启动此程序。";

const tools = [
  {
    name: "add",
    description: "Adds two numbers",
    inputSchema: {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
    },
  },
  {
    name: "echo",
    description: "Returns the text",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  },
];

interface Request {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly protocolVersion?: string;
    readonly arguments?: Readonly<Record<string, unknown>>;
  };
}

export class McpPipe {
  readonly #options: PipeOptions;
  #socket: WebSocket | undefined;
  readonly #timers: Timers;
  #pauseMs = firstPauseMs;
  #isDead = false;

  constructor(options: PipeOptions) {
    const unknown = options.faults?.find((name) => !Object.hasOwn(pipeFaults, name));
    if (unknown !== undefined)
      throw new SimulatorError(
        "options_invalid",
        `Unknown fault ${unknown}. Use ${Object.keys(pipeFaults).join(", ")}.`,
      );
    if (!/^wss?:\/\//.test(options.url))
      throw new SimulatorError(
        "options_invalid",
        "The address of the endpoint must begin with ws:// or wss://.",
      );
    this.#options = options;
    this.#timers = new Timers(options.clock ?? systemClock);
  }

  start(): void {
    const { url, onEvent } = this.#options;
    const socket = new WebSocket(url, { perMessageDeflate: false });
    this.#socket = socket;
    // Each connection starts the server again.
    this.#isDead = false;
    socket.on("open", () => {
      onEvent?.({ kind: "connected" });
      if (this.#has("noise")) this.#print("INFO:     Started server process [7]");
      if (this.#has("flood")) this.#flood();
    });
    socket.on("message", (data) => this.#received((data as Buffer).toString()));
    socket.on("error", () => undefined);
    socket.on("close", (code) => {
      if (this.#socket !== socket) return;
      this.#timers.clear();
      onEvent?.({ kind: "disconnected", code, againInMs: this.#pauseMs });
      this.#timers.after(this.#pauseMs, () => this.start());
      this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs);
    });
  }

  stop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#timers.clear();
    socket?.close();
  }

  #has(fault: keyof typeof pipeFaults): boolean {
    return this.#options.faults?.includes(fault) === true;
  }

  #print(line: string): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(`${line}\n`);
  }

  #flood(): void {
    this.#timers.after(floodEveryMs, () => {
      // Otherwise the endpoint has stopped reading.
      if (this.#socket?.bufferedAmount === 0)
        for (let count = 0; count < floodLines; count += 1) this.#print("DEBUG: still here");
      this.#flood();
    });
  }

  #received(text: string): void {
    if (this.#isDead) return;
    const request = JSON.parse(text) as Request;
    if (request.id === undefined) return;
    const result = this.#answer(request);
    const print = () => {
      if (this.#has("noise")) this.#print(`DEBUG: ${request.method ?? ""}`);
      this.#print(JSON.stringify({ jsonrpc: "2.0", id: request.id, ...result }));
    };
    if (request.method === "initialize" && this.#has("slow-start")) this.#timers.after(slowStartMs, print);
    else print();
    if (request.method === "tools/call" && this.#has("dead-child")) this.#isDead = true;
  }

  #answer({ method, params = {} }: Request): object {
    const { name = this.#options.name ?? "Calculator", arguments: args = {}, protocolVersion } = params;
    switch (method) {
      case "initialize":
        if (this.#has("failed-start")) return { error: { code: -32000, message: startFailure } };
        return {
          result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name, version: "1.0.0" } },
        };
      case "tools/list":
        return { result: { tools } };
      case "ping":
        return { result: {} };
      case "tools/call": {
        this.#options.onEvent?.({ kind: "called", tool: name });
        const text = name === "add" ? String(Number(args["a"]) + Number(args["b"])) : String(args["text"]);
        return { result: { content: [{ type: "text", text }], isError: false } };
      }
      default:
        return { error: { code: -32601, message: "Method not found" } };
    }
  }
}

/**
 * The broker of a hosted voice agent: tool servers dial in, and it sends the frames that the hosted service was seen to send.
 * Several servers on one token are merged; with the fault `replace`, the newest one replaces the others, as on self-hosted
 * servers.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { type Clock, systemClock, Timers } from "../clock.ts";
import { SimulatorError } from "../errors.ts";

export const brokerFaults = {
  "close-4004": "closes with 4004 when the tools are listed",
  replace: "a newer connection closes the older one with 1000 and the self-hosted server's reason",
  "string-ids": "rewrites ids to long texts, as self-hosted servers do",
  pipelined: "sends initialize, initialized and tools/list without waiting",
  noise: "sends frames that are not JSON",
  "deadline-10s": "waits 10 s for a call instead of 300 s",
  "no-pong": "does not answer pings of the WebSocket",
  flood: "sends frames without end",
} as const;

export type BrokerEvent =
  | { readonly kind: "connected" }
  | { readonly kind: "listed"; readonly tools: readonly string[] }
  | { readonly kind: "answered"; readonly tool: string; readonly text: string; readonly failed: boolean }
  | { readonly kind: "disconnected"; readonly code: number };

export interface BrokerOptions {
  readonly host?: string;
  readonly port?: number;
  readonly token?: string;
  readonly faults?: readonly string[];
  /** A tool to call whenever a server has listed it. */
  readonly call?: { readonly tool: string; readonly arguments: object };
  readonly onEvent?: (event: BrokerEvent) => void;
  readonly clock?: Clock;
}

type Answer = Readonly<Record<string, unknown>>;

const pingEveryMs = 30_000;
const deadlines = { short: 10_000, long: 300_000 };
const floodEveryMs = 100;
const floodFrames = 2_000;
const vendor = { clientId: null, serialNumber: null };

class Provider {
  readonly socket: WebSocket;
  readonly timers: Timers;
  tools: readonly string[] = [];
  readonly #waiting = new Map<unknown, (answer: Answer) => void>();
  readonly #idOf: (number: number) => unknown;
  #next = 0;

  constructor(socket: WebSocket, textIds: boolean, clock: Clock) {
    this.socket = socket;
    this.timers = new Timers(clock);
    socket.on("close", () => this.timers.clear());
    const connection = randomUUID();
    this.#idOf = (number) => (textIds ? `${connection}_n_${number}` : number);
    socket.on("message", (data) => this.#received((data as Buffer).toString()));
  }

  notify(method: string): void {
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", method }));
  }

  ask(method: string, params: object, withinMs: number): Promise<Answer> {
    const id = this.#idOf(this.#next);
    this.#next += 1;
    this.socket.send(JSON.stringify({ id, jsonrpc: "2.0", method, params }));
    return new Promise((resolve) => {
      const end = (answer: Answer) => {
        cancel();
        this.#waiting.delete(id);
        resolve(answer);
      };
      const aborted = `Tool call was aborted due to timeout (${withinMs}ms)`;
      const cancel = this.timers.after(withinMs, () => end({ error: { message: aborted } }));
      this.#waiting.set(id, end);
    });
  }

  #received(text: string): void {
    let message: Answer;
    try {
      message = JSON.parse(text) as Answer;
    } catch {
      return;
    }
    if (message["method"] === "notifications/tools/list_changed") void this.list();
    // Exactly the same id, with its type.
    else this.#waiting.get(message["id"])?.(message);
  }

  async list(): Promise<void> {
    const { result } = (await this.ask("tools/list", {}, deadlines.short)) as {
      readonly result?: { readonly tools?: readonly { readonly name: string }[] };
    };
    this.tools = (result?.tools ?? []).map(({ name }) => name);
  }
}

export class EndpointBroker {
  readonly #server: WebSocketServer;
  readonly #options: BrokerOptions;
  readonly #providers = new Set<Provider>();
  readonly #token: string;
  readonly #clock: Clock;

  private constructor(server: WebSocketServer, options: BrokerOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#server = server;
    this.#options = options;
    this.#token = options.token ?? sampleToken();
    server.on("connection", (socket, request) => {
      const { searchParams } = new URL(request.url ?? "", "http://broker");
      socket.on("error", () => undefined);
      if (searchParams.get("token") === this.#token) void this.#serve(socket);
      else socket.close(1008, "the token is not valid");
    });
  }

  static async start(options: BrokerOptions = {}): Promise<EndpointBroker> {
    const unknown = options.faults?.find((name) => !Object.hasOwn(brokerFaults, name));
    if (unknown !== undefined)
      throw new SimulatorError(
        "options_invalid",
        `Unknown fault ${unknown}. Use ${Object.keys(brokerFaults).join(", ")}.`,
      );
    const server = new WebSocketServer({
      host: options.host ?? "127.0.0.1",
      port: options.port ?? 0,
      autoPong: options.faults?.includes("no-pong") !== true,
    });
    await once(server, "listening");
    return new EndpointBroker(server, options);
  }

  /** The address for `agents.endpoints`. */
  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `ws://${address}:${port}/mcp/?token=${this.#token}`;
  }

  /** The tools of all connected servers. */
  get tools(): string[] {
    return [...this.#providers].flatMap(({ tools }) => tools);
  }

  async call(tool: string, args: object): Promise<{ readonly text: string; readonly failed: boolean }> {
    const provider = [...this.#providers].find(({ tools }) => tools.includes(tool));
    if (provider === undefined)
      throw new SimulatorError("options_invalid", `No connected server has the tool ${tool}.`);
    const meta = { ...vendor, agentId: 1_000_001 };
    const params = { name: tool, arguments: args, ...vendor, _meta: meta };
    const withinMs = this.#has("deadline-10s") ? deadlines.short : deadlines.long;
    const { result, error } = (await provider.ask("tools/call", params, withinMs)) as {
      readonly result?: {
        readonly content?: readonly { readonly text?: string }[];
        readonly isError?: boolean;
      };
      readonly error?: { readonly message?: string };
    };
    const text = result?.content?.[0]?.text ?? error?.message ?? "";
    const failed = result === undefined || result.isError === true;
    this.#options.onEvent?.({ kind: "answered", tool, text, failed });
    return { text, failed };
  }

  async stop(): Promise<void> {
    for (const { socket, timers } of this.#providers) {
      timers.clear();
      socket.terminate();
    }
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #has(fault: keyof typeof brokerFaults): boolean {
    return this.#options.faults?.includes(fault) === true;
  }

  async #serve(socket: WebSocket): Promise<void> {
    const { onEvent, call } = this.#options;
    if (this.#has("replace")) for (const old of this.#providers) old.socket.close(1000, "新连接替换");
    const provider = new Provider(socket, this.#has("string-ids"), this.#clock);
    this.#providers.add(provider);
    onEvent?.({ kind: "connected" });
    repeat(provider.timers, pingEveryMs, () => void provider.ask("ping", {}, deadlines.short));
    if (this.#has("flood")) repeat(provider.timers, floodEveryMs, () => flood(socket));
    socket.on("close", (code) => {
      this.#providers.delete(provider);
      onEvent?.({ kind: "disconnected", code });
    });
    if (this.#has("noise")) socket.send("INFO: a line of a log");
    const answered = provider.ask("initialize", initializeParams, deadlines.short);
    if (!this.#has("pipelined")) await answered;
    provider.notify("notifications/initialized");
    await provider.list();
    onEvent?.({ kind: "listed", tools: provider.tools });
    if (this.#has("close-4004")) socket.close(4004, "Internal server error");
    else if (call !== undefined && provider.tools.includes(call.tool))
      await this.call(call.tool, call.arguments);
  }
}

function repeat(timers: Timers, everyMs: number, task: () => void): void {
  timers.after(everyMs, () => {
    task();
    repeat(timers, everyMs, task);
  });
}

function flood(socket: WebSocket): void {
  // The other side has stopped reading.
  if (socket.bufferedAmount > 0) return;
  for (let count = 0; count < floodFrames; count += 1) socket.send("INFO: a line of a log");
}

const initializeParams = {
  protocolVersion: "2024-11-05",
  capabilities: { sampling: {}, roots: { listChanged: false } },
  clientInfo: { name: "xz-mcp-broker", version: "0.0.1" },
};

/** A JWT with the claims of the hosted service, valid for a year. Its signature is not real. */
function sampleToken(): string {
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    userId: 1,
    agentId: 1_000_001,
    endpointId: "agent_1000001",
    purpose: "mcp-endpoint",
    iat: now,
  };
  const parts = [
    { alg: "ES256", typ: "JWT" },
    { ...claims, exp: now + 365 * 86_400 },
  ];
  return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.simulated`;
}

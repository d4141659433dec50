/** The same MCP server as a device of each kind that reaches the gateway over the network, for the scenarios of programs. */
import { HttpServer, type HttpServerKind, HttpTools } from "@tendon/simulator";
import { WebSocket } from "ws";
import { makeToken, providerUrl } from "../endpoint/provider.ts";
import type { Fields } from "../raw-device.ts";
import type { Site } from "../site.ts";

/** A running MCP server, whose device is named `program`. */
export interface Program {
  readonly tools: HttpTools;
  /** Ends without a word, as a program that was killed. */
  drop(): Promise<void>;
  /** Starts again, with its connection to this gateway. */
  comeBack(site: Site): Promise<void>;
}

export interface ProgramHost {
  readonly kind: "http" | "endpoint";
  /** Starts a server, and makes it a device of this gateway. */
  start(site: Site): Promise<Program>;
}

export function httpHost(serverKind: HttpServerKind): ProgramHost {
  return {
    kind: "http",
    async start(site) {
      let server = await HttpServer.start({ kind: serverKind });
      await site.rest("POST", "/devices/http", { alias: "program", url: server.url });
      const { tools, port } = server;
      return {
        tools,
        drop: () => server.stop(),
        async comeBack() {
          server = await HttpServer.start({ kind: serverKind, port });
        },
      };
    },
  };
}

/** One token for each gateway or cluster, because the device of a provider belongs to it. */
const tokens = new WeakMap<Site, string>();

export const endpointHost: ProgramHost = {
  kind: "endpoint",
  async start(site) {
    const token = tokens.get(site) ?? (await makeToken(site));
    tokens.set(site, token);
    let provider = new Provider(providerUrl(site, token));
    return {
      tools: provider.tools,
      drop: async () => provider.drop(),
      async comeBack(at) {
        provider = new Provider(providerUrl(at, token));
      },
    };
  },
};

/** An MCP server of 2025-11-25 behind a WebSocket that it has opened. */
class Provider {
  readonly tools = new HttpTools(() => this.#send({ method: "notifications/tools/list_changed" }));
  readonly #socket: WebSocket;
  readonly #running = new Map<unknown, AbortController>();
  readonly #questions = new Map<unknown, (result: Fields) => void>();

  constructor(url: string) {
    this.#socket = new WebSocket(url.replace(/^http/, "ws"));
    this.#socket.on("error", () => undefined);
    this.#socket.on("message", (data) => {
      void this.#received(JSON.parse((data as Buffer).toString()) as Fields);
    });
  }

  drop(): void {
    this.#socket.terminate();
  }

  #send(message: Fields): void {
    this.#socket.send(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  async #received({ id, method, params, result }: Fields): Promise<void> {
    const given = (params ?? {}) as Fields;
    if (method === undefined) this.#questions.get(id)?.((result ?? {}) as Fields);
    else if (method === "notifications/cancelled") this.#running.get(given["requestId"])?.abort();
    else if (method === "tools/call") await this.#call(id, given);
    else if (id !== undefined) this.#send({ id, result: this.#answer(String(method)) });
  }

  #answer(method: string): Fields {
    if (method === "tools/list") return { tools: this.tools.list() };
    if (method !== "initialize") return {};
    const serverInfo = { name: "program", version: "1.0.0" };
    return { protocolVersion: "2025-11-25", capabilities: { tools: { listChanged: true } }, serverInfo };
  }

  async #call(id: unknown, params: Fields): Promise<void> {
    const controller = new AbortController();
    this.#running.set(id, controller);
    const { progressToken } = (params["_meta"] ?? {}) as Fields;
    try {
      const result = await this.tools.run(String(params["name"]), {
        args: (params["arguments"] ?? {}) as Fields,
        headers: {},
        signal: controller.signal,
        progress: (progress, total) =>
          this.#send({ method: "notifications/progress", params: { progressToken, progress, total } }),
        ask: (message) => this.#ask(message),
      });
      this.#send({ id, result });
    } catch (error) {
      this.#send({ id, error: { code: -32_000, message: (error as Error).message } });
    }
  }

  #ask(message: string): Promise<Fields> {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    this.#send({ id: "question", method: "elicitation/create", params: { message, requestedSchema } });
    return new Promise((resolve) => this.#questions.set("question", resolve));
  }
}

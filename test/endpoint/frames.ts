/** The other side of an MCP endpoint in tests: WebSockets whose frames are sent and taken one by one. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { Inbox } from "../inbox.ts";
import type { Fields } from "../raw-device.ts";
import { secretWatch } from "../secret-watch.ts";

/** One WebSocket of either side. */
export class FrameSocket {
  readonly socket: WebSocket;
  readonly #frames = new Inbox<string>("frame");
  readonly #closes = new Inbox<{ code: number; reason: string }>("close");

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data) => this.#frames.put((data as Buffer).toString()));
    socket.on("close", (code, reason) => this.#closes.put({ code, reason: reason.toString() }));
    socket.on("error", () => undefined);
  }

  send(message: unknown): void {
    this.socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  async frame(): Promise<string> {
    return await this.#frames.take();
  }

  async next(): Promise<Fields> {
    return JSON.parse(await this.frame()) as Fields;
  }

  async ask(message: Fields): Promise<Fields> {
    this.send(message);
    return await this.next();
  }

  async closed(): Promise<{ code: number; reason: string }> {
    return await this.#closes.take();
  }
}

/** The server that an outgoing endpoint dials: an agent's broker. */
export class Broker {
  readonly #server: WebSocketServer;
  readonly #arrivals = new Inbox<FrameSocket>("connection");
  readonly paths: string[] = [];

  private constructor(server: WebSocketServer) {
    this.#server = server;
    server.on("connection", (socket, request) => {
      this.paths.push(request.url ?? "");
      this.#arrivals.put(new FrameSocket(socket));
    });
  }

  /** `pongs`: whether it answers pings of the WebSocket. */
  static async open({ pongs = true } = {}): Promise<Broker> {
    const server = new WebSocketServer({ host: "127.0.0.1", port: 0, autoPong: pongs });
    await once(server, "listening");
    onTestFinished(() => {
      for (const socket of server.clients) socket.terminate();
      server.close();
    });
    return new Broker(server);
  }

  url(token: string, path = "/mcp/"): string {
    keepToken(token);
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}?token=${token}`;
  }

  async arrival(): Promise<FrameSocket> {
    return await this.#arrivals.take();
  }

  /** The number of open connections. */
  get open(): number {
    return this.#server.clients.size;
  }
}

/** No log line, event or answer may have the token of an address. */
function keepToken(token: string | null): void {
  for (const text of [token ?? "", encodeURIComponent(token ?? "")])
    secretWatch.keep(text, "a token in an address");
}

/** Dials in, as a voice server or a tool provider. `pongs`: whether it answers pings of the WebSocket. */
export async function dial(url: string, { pongs = true } = {}): Promise<FrameSocket> {
  keepToken(new URL(url).searchParams.get("token"));
  const options = { perMessageDeflate: false, autoPong: pongs };
  const socket = new WebSocket(url.replace(/^http/, "ws"), options);
  onTestFinished(() => socket.terminate());
  const made = new FrameSocket(socket);
  await once(socket, "open");
  return made;
}

/** The status with which an upgrade is refused. */
export async function refusal(url: string): Promise<number> {
  keepToken(new URL(url).searchParams.get("token"));
  const socket = new WebSocket(url.replace(/^http/, "ws"));
  socket.on("error", () => undefined);
  return await new Promise((resolve, reject) => {
    socket.on("open", () => {
      socket.terminate();
      reject(new TypeError("the upgrade was accepted"));
    });
    socket.on("unexpected-response", (_request, response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
  });
}

export const hosted = {
  initialize: {
    id: 0,
    jsonrpc: "2.0",
    method: "initialize",
    params: {
      protocolVersion: "2024-11-05",
      capabilities: { sampling: {}, roots: { listChanged: false } },
      clientInfo: { name: "xz-mcp-broker", version: "0.0.1" },
    },
  },
  initialized: { jsonrpc: "2.0", method: "notifications/initialized" },
  list: { id: 1, jsonrpc: "2.0", method: "tools/list", params: {} },
  ping: { id: 2, jsonrpc: "2.0", method: "ping", params: {} },
};

export function callFrame(id: unknown, name: string, args: Fields = {}, more: Fields = {}): Fields {
  return {
    id,
    jsonrpc: "2.0",
    method: "tools/call",
    params: {
      name,
      arguments: args,
      clientId: null,
      serialNumber: null,
      ...more,
      _meta: { clientId: null, serialNumber: null, agentId: 1000001 },
    },
  };
}

/** A JWT as the hosted service makes them. Its signature is not checked here. */
export function jwt(claims: Fields): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "ES256", typ: "JWT" })}.${part(claims)}.c2lnbmF0dXJl`;
}

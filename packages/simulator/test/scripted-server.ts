import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { Inbox } from "../../../test/inbox.ts";

export class ServerConnection {
  readonly request: IncomingMessage;
  readonly socket: WebSocket;
  readonly texts = new Inbox<string>("text");
  readonly binaries = new Inbox<Buffer>("binary message");
  readonly pongs = new Inbox<string>("pong");
  /** How texts are shown; latin1 shows bytes that are not UTF-8. */
  encoding: "utf8" | "latin1" = "utf8";
  /** The close code as this side sees it. */
  readonly closed: Promise<number>;

  constructor(socket: WebSocket, request: IncomingMessage) {
    this.socket = socket;
    this.request = request;
    socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) this.binaries.put(data);
      else this.texts.put(data.toString(this.encoding));
    });
    socket.on("pong", (data) => this.pongs.put(data.toString("utf8")));
    this.closed = new Promise((resolve) => {
      socket.on("close", resolve);
    });
  }

  send(message: unknown): void {
    this.socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  mcp(payload: Readonly<Record<string, unknown>>): void {
    this.send({ session_id: "s", type: "mcp", payload: { jsonrpc: "2.0", ...payload } });
  }

  hello(sessionId = "s"): void {
    this.send({ type: "hello", transport: "websocket", session_id: sessionId });
  }

  /** Resolves when the device has read everything sent so far and has sent its immediate replies. */
  async quiet(): Promise<void> {
    // Twice, because the device answers a ping when it reads it, before its main loop runs.
    for (const mark of ["first", "second"]) {
      this.socket.ping(mark);
      while ((await this.pongs.take()) !== mark);
    }
  }

  /** The payload of the next text, which must be an MCP message. */
  async reply<T = Record<string, unknown>>(): Promise<T> {
    const message = JSON.parse(await this.texts.take()) as { type: string; payload: T };
    if (message.type !== "mcp") throw new TypeError(`expected mcp, got ${message.type}`);
    return message.payload;
  }

  /** Reads the device's hello, answers it and reads the listen message that follows. */
  async welcome(sessionId = "s"): Promise<Record<string, unknown>> {
    const hello = JSON.parse(await this.texts.take()) as Record<string, unknown>;
    this.hello(sessionId);
    await this.texts.take();
    return hello;
  }
}

/** A WebSocket server on a free loopback port that sends nothing on its own. */
export class ScriptedServer {
  readonly #server: WebSocketServer;
  readonly connections = new Inbox<ServerConnection>("connection");
  seen = 0;

  private constructor(server: WebSocketServer) {
    this.#server = server;
    server.on("connection", (socket, request) => {
      this.seen += 1;
      this.connections.put(new ServerConnection(socket, request));
    });
  }

  static async start(): Promise<ScriptedServer> {
    const server = new WebSocketServer({ host: "127.0.0.1", port: 0, skipUTF8Validation: true });
    await once(server, "listening");
    return new ScriptedServer(server);
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}/xiaozhi/v1/`;
  }

  async stop(): Promise<void> {
    for (const client of this.#server.clients) client.terminate();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}

import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { type Clock, systemClock } from "../clock.ts";
import { FrontDesk, type FrontDeskOptions } from "./front-desk.ts";
import { type ServerFaultName, serverFaultsNamed } from "./server-faults.ts";
import { Visitor, type VoiceEvent } from "./visitor.ts";

/** What the server says; the defaults make a short exchange. */
export interface VoiceScript {
  /** So many audio packets are a question, where the board does not say when it stops; 10. */
  readonly questionPackets: number;
  readonly heard: string;
  readonly emotion: string;
  readonly sentences: readonly string[];
  /** Between two packets of a sentence; 60 is as fast as it is played, 0 all at once. */
  readonly paceMs: number;
  /** A tool that the server calls before each answer. */
  readonly tool: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> } | undefined;
  /** What its `initialize` says, such as a vision address. */
  readonly capabilities: Readonly<Record<string, unknown>>;
}

export interface VoiceServerOptions {
  /** 127.0.0.1. */
  readonly host?: string;
  /** 0 picks a free one. */
  readonly port?: number;
  /** Sign-in is refused without it. */
  readonly token?: string;
  /** Sign-in takes a token that the server's own OTA address has given. */
  readonly desk?: FrontDeskOptions;
  readonly script?: Partial<VoiceScript>;
  readonly faults?: readonly string[];
  /** Keeps all that was heard, for tests. */
  readonly record?: boolean;
  /** Names the sessions; counted by default. */
  readonly sessionId?: (number: number) => string;
  readonly visited?: (visitor: Visitor) => void;
  /** Sees what happens, for whoever watches. */
  readonly noticed?: (event: VoiceEvent) => void;
  readonly clock?: Clock;
}

const defaultScript: VoiceScript = {
  questionPackets: 10,
  heard: "What time is it?",
  emotion: "happy",
  sentences: ["It is time for a chime.", "And for another one."],
  paceMs: 60,
  tool: undefined,
  capabilities: {},
};

const path = "/xiaozhi/v1/";
const otaPath = "/xiaozhi/ota/";

export class VoiceServer {
  /** Where boards get their tokens, if it has such a thing. */
  readonly desk: FrontDesk | undefined;
  readonly #http: Server;
  readonly #sockets: WebSocketServer;
  readonly #options: VoiceServerOptions;
  readonly #faults: ReadonlySet<ServerFaultName>;
  readonly #visitors = new Set<Visitor>();
  #number = 0;

  private constructor(options: VoiceServerOptions) {
    this.#options = options;
    this.#faults = serverFaultsNamed(options.faults ?? []);
    this.desk = options.desk === undefined ? undefined : new FrontDesk(options.desk, () => this.url);
    this.#http = createServer((request, response) => {
      if (this.desk !== undefined && request.url?.startsWith(otaPath)) this.desk.serve(request, response);
      else response.writeHead(404).end();
    });
    this.#sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
    this.#http.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
  }

  static async start(options: VoiceServerOptions = {}): Promise<VoiceServer> {
    const server = new VoiceServer(options);
    const { host = "127.0.0.1", port = 0 } = options;
    await new Promise<void>((resolve, reject) => {
      server.#http.once("error", reject);
      server.#http.listen(port, host, resolve);
    });
    return server;
  }

  get url(): string {
    const { port, address } = this.#http.address() as AddressInfo;
    return `ws://${address.includes(":") ? `[${address}]` : address}:${port}${path}`;
  }

  get otaUrl(): string {
    return new URL(otaPath, this.url.replace(/^ws/, "http")).href;
  }

  /** Those who are connected now. */
  get visitors(): ReadonlySet<Visitor> {
    return this.#visitors;
  }

  async stop(): Promise<void> {
    for (const visitor of this.#visitors) visitor.drop();
    await new Promise<void>((resolve) => {
      this.#http.close(() => resolve());
      this.#http.closeAllConnections();
    });
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { token } = this.#options;
    const { authorization } = request.headers;
    const device = String(request.headers["device-id"] ?? "");
    const welcome =
      this.desk?.welcomes(device, authorization) ??
      (token === undefined || authorization === `Bearer ${token}`);
    if (!welcome || this.#faults.has("refuse")) {
      socket.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => this.#accept(request, webSocket));
  }

  #accept(request: IncomingMessage, socket: WebSocket): void {
    this.#number += 1;
    const { sessionId = (number: number) => `voice-${number}`, record = false, clock } = this.#options;
    const visitor = new Visitor({
      socket,
      headers: request.headers,
      sessionId: this.#faults.has("odd-session-id")
        ? `say "${this.#number}" \\ now`
        : sessionId(this.#number),
      script: { ...defaultScript, ...this.#options.script },
      faults: this.#faults,
      record,
      clock: clock ?? systemClock,
      noticed: this.#options.noticed ?? (() => undefined),
    });
    this.#visitors.add(visitor);
    socket.once("close", () => this.#visitors.delete(visitor));
    this.#options.visited?.(visitor);
  }
}

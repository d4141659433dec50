import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { type Clock, systemClock } from "../clock.ts";
import { BoardConnection, type VoiceEvent } from "./board-connection.ts";
import { OtaEndpoint, type OtaEndpointOptions } from "./ota-endpoint.ts";
import { type ServerFaultName, serverFaultsNamed } from "./server-faults.ts";

/** The script of the server; the defaults make a short conversation. */
export interface VoiceScript {
  /** Number of audio packets that make a question if the board does not report its end; 10. */
  readonly questionPackets: number;
  readonly recognizedText: string;
  readonly emotion: string;
  readonly sentences: readonly string[];
  /** Pause between two packets of a sentence; 60 is real time, 0 sends all at once. */
  readonly paceMs: number;
  /** A tool that the server calls before each answer. */
  readonly tool: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> } | undefined;
  /** Capabilities in its `initialize`, such as a vision address. */
  readonly capabilities: Readonly<Record<string, unknown>>;
}

export interface VoiceServerOptions {
  /** 127.0.0.1. */
  readonly host?: string;
  /** 0 picks a free one. */
  readonly port?: number;
  /** Connections without this token are rejected. */
  readonly token?: string;
  /** Requires a token from the server's OTA endpoint. */
  readonly ota?: OtaEndpointOptions;
  readonly script?: Partial<VoiceScript>;
  readonly faults?: readonly string[];
  /** Keeps all received messages, for tests. */
  readonly record?: boolean;
  /** Generates session ids; a counter by default. */
  readonly sessionId?: (number: number) => string;
  readonly onConnection?: (connection: BoardConnection) => void;
  /** Called with every event. */
  readonly onEvent?: (event: VoiceEvent) => void;
  readonly clock?: Clock;
}

const defaultScript: VoiceScript = {
  questionPackets: 10,
  recognizedText: "What time is it?",
  emotion: "happy",
  sentences: ["It is time for a chime.", "And for another one."],
  paceMs: 60,
  tool: undefined,
  capabilities: {},
};

const path = "/xiaozhi/v1/";
const otaPath = "/xiaozhi/ota/";

export class VoiceServer {
  /** The OTA endpoint, if enabled. */
  readonly ota: OtaEndpoint | undefined;
  readonly #http: Server;
  readonly #sockets: WebSocketServer;
  readonly #options: VoiceServerOptions;
  readonly #faults: ReadonlySet<ServerFaultName>;
  readonly #connections = new Set<BoardConnection>();
  #number = 0;

  private constructor(options: VoiceServerOptions) {
    this.#options = options;
    this.#faults = serverFaultsNamed(options.faults ?? []);
    this.ota = options.ota === undefined ? undefined : new OtaEndpoint(options.ota, () => this.url);
    this.#http = createServer((request, response) => {
      if (this.ota !== undefined && request.url?.startsWith(otaPath)) this.ota.serve(request, response);
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

  /** The open connections. */
  get connections(): ReadonlySet<BoardConnection> {
    return this.#connections;
  }

  async stop(): Promise<void> {
    for (const connection of this.#connections) connection.drop();
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
      this.ota?.accepts(device, authorization) ??
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
    const connection = new BoardConnection({
      socket,
      headers: request.headers,
      sessionId: this.#faults.has("odd-session-id")
        ? `say "${this.#number}" \\ now`
        : sessionId(this.#number),
      script: { ...defaultScript, ...this.#options.script },
      faults: this.#faults,
      record,
      clock: clock ?? systemClock,
      onEvent: this.#options.onEvent ?? (() => undefined),
    });
    this.#connections.add(connection);
    socket.once("close", () => this.#connections.delete(connection));
    this.#options.onConnection?.(connection);
  }
}

/**
 * A tool provider that has dialled in [END-11, END-12], such as `mcp_pipe.py`: a standard MCP server behind a WebSocket. The
 * socket often outlives the program behind it, so the gateway asks for signs of life, and closes the socket of a dead
 * program: the pipe then starts it again.
 */
import { isObject, parseJson } from "@tendon/protocol";
import type { RawData, WebSocket } from "ws";
import type { Clock } from "../clock.ts";
import type { Events } from "../events/events.ts";
import type { SessionOwner } from "./device-session.ts";
import type { FrameLog } from "./frame-log.ts";
import { McpDialect } from "./mcp-dialect.ts";
import { ProcessSession } from "./process-session.ts";

export interface EndpointProviderDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly owner: SessionOwner;
  readonly queueLimit: number;
  readonly random: () => number;
  readonly frames: Pick<FrameLog, "record">;
  /** A frame that is not JSON was ignored: programs print to the same stream. */
  readonly ignored: () => void;
  /** The device of this provider, by the name of its server. */
  readonly deviceFor: (serverName: string | undefined) => Promise<string>;
}

/** Before the provider has introduced itself. */
const unnamed = "a tool provider";
/** A program may have to be downloaded before it starts. */
const startMs = 60_000;
const pingEveryMs = 30_000;
const maxMisses = 2;
const closeGraceMs = 1_000;

export class EndpointProvider {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #session: ProcessSession;
  #dialect: McpDialect | undefined;

  constructor(socket: WebSocket, dependencies: EndpointProviderDependencies) {
    this.#socket = socket;
    this.#clock = dependencies.clock;
    const { ignored } = dependencies;
    this.#session = new ProcessSession({
      ...dependencies,
      kind: "endpoint",
      deviceId: unnamed,
      identify: dependencies.deviceFor,
      stdin: {
        get writable() {
          return socket.readyState === socket.OPEN;
        },
        get writableLength() {
          return socket.bufferedAmount;
        },
        write: (text: string) => {
          socket.send(text.trimEnd());
          return true;
        },
        end: () => {
          this.#close(1001, "the gateway ends the connection");
          return undefined as never;
        },
      },
      stdout: socket as unknown as { pause(): never; resume(): never },
      kill: (why) => this.#close(1011, why),
      createDialect: (session) => {
        this.#dialect = new McpDialect(session, { probe: false }, startMs);
        return this.#dialect;
      },
    });
    socket.on("message", (data: RawData, isBinary) => {
      // Safe: `binaryType` is never set, so that messages are buffers.
      const text = (data as Buffer).toString();
      if (isBinary || !isObject(parseJson(text))) ignored();
      else this.#session.receiveFrame(text);
    });
    this.#watch();
    socket.on("close", () => this.#session.ended("the provider closed the connection"));
    // The opener paused it, because a peer may send at once.
    socket.resume();
  }

  /** The id of its device; `undefined` until it has listed its tools. */
  get device(): string | undefined {
    return this.#session.isReady ? this.#session.deviceId : undefined;
  }

  get connectedAt(): number {
    return this.#session.connectedAt;
  }

  close(code: number, reason: string): void {
    this.#session.ended(reason, false);
    this.#close(code, reason);
  }

  /** A program that runs a call may be too busy to answer a ping. */
  #watch(): void {
    let asked = false;
    let seen = this.#session.lastSeenAt;
    let misses = 0;
    const timer = this.#clock.every(pingEveryMs, () => {
      const { busy, isReady, lastSeenAt } = this.#session;
      misses = !asked || busy || lastSeenAt > seen ? 0 : misses + 1;
      seen = lastSeenAt;
      asked = isReady && !busy;
      if (misses >= maxMisses) this.#session.close(1011, "the program behind the connection does not answer");
      else if (asked) this.#dialect?.ping();
    });
    this.#socket.on("close", () => timer.cancel());
  }

  #close(code: number, reason: string): void {
    this.#socket.close(code, reason.slice(0, 100));
    const timer = this.#clock.after(closeGraceMs, () => this.#socket.terminate());
    this.#socket.once("close", () => timer.cancel());
  }
}

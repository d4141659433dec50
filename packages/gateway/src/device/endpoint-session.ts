/**
 * A tool provider that has connected to the gateway [END-11, END-12], such as `mcp_pipe.py`: a standard MCP server behind
 * a WebSocket. The socket often outlives the program behind it, so the gateway asks for signs of life, and closes the
 * socket of a dead program: the pipe then starts it again.
 */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isObject, limits, parseJson } from "@tendon/protocol";
import type { RawData, WebSocket } from "ws";
import { messageOf } from "../errors.ts";
import { McpDialect } from "./mcp-dialect.ts";
import { McpPipes } from "./mcp-pipes.ts";
import { ProgramSession, type ProgramSessionDependencies } from "./program-session.ts";

export interface EndpointSessionDependencies extends Omit<ProgramSessionDependencies, "flow" | "deviceId"> {
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
/** A close frame has at most 125 bytes, two of them for the code. */
const maxReasonBytes = 123;

export class EndpointSession extends ProgramSession {
  readonly kind = "endpoint";
  readonly transport = "endpoint";
  protected readonly sendFailure = "the provider stopped reading";
  protected readonly dialect: McpDialect;
  readonly #socket: WebSocket;
  readonly #pipes: McpPipes;
  #introduced = false;
  #ignoredFrames = 0;

  constructor(socket: WebSocket, dependencies: EndpointSessionDependencies) {
    super({ ...dependencies, deviceId: unnamed, flow: socket });
    this.#socket = socket;
    this.#pipes = new McpPipes((text) => this.#write(text.trimEnd()));
    this.dialect = new McpDialect(this, {
      era: { probe: false },
      startMs,
      open: () => this.#pipes,
      introduced: async (serverName) => {
        this.#introduced = true;
        this.identified(await dependencies.deviceFor(serverName));
      },
      failureOf: (error) => ({ kind: "answer", message: messageOf(error) }),
      setupFailed: (error) => {
        this.events.setupFailed(this.deviceId, "initialize", messageOf(error));
        this.close(1011, `the provider does not answer as an MCP server (${messageOf(error)})`);
      },
    });
    socket.on("message", (data: RawData, isBinary) => {
      // Safe: `binaryType` is never set, so that messages are buffers.
      const text = (data as Buffer).toString().trim();
      const parsed = isBinary ? undefined : parseJson(text);
      if (isObject(parsed)) this.#message(text, parsed as unknown as JSONRPCMessage);
      else {
        this.#ignoredFrames += 1;
        dependencies.ignored();
        this.intake.count(1, text.length);
      }
    });
    socket.on("ping", () => this.intake.count(1, 0));
    this.#watch();
    socket.on("close", () => this.ended("the provider closed the connection"));
    // The opener paused it, because a peer may send at once.
    socket.resume();
  }

  /** The id of its device; `undefined` until it has listed its tools. */
  get device(): string | undefined {
    return this.isReady ? this.deviceId : undefined;
  }

  get ignoredFrames(): number {
    return this.#ignoredFrames;
  }

  close(closeCode: number, reason: string, deviceLeft = true): void {
    this.ended(reason, deviceLeft);
    if (this.#socket.readyState === this.#socket.CLOSED) return;
    this.#socket.close(closeCode, shortened(reason));
    const timer = this.clock.after(closeGraceMs, () => this.#socket.terminate());
    this.#socket.once("close", () => timer.cancel());
  }

  protected floodReason(exceeded: "frames" | "bytes"): string {
    return `the provider sends too many ${exceeded === "frames" ? "messages" : "bytes"}`;
  }

  #write(text: string): boolean {
    const { readyState, OPEN, bufferedAmount } = this.#socket;
    if (this.isClosed || readyState !== OPEN || bufferedAmount > limits.deviceSendBufferBytes.max)
      return false;
    this.#socket.send(text);
    this.record("out", text);
    return true;
  }

  #message(text: string, message: JSONRPCMessage): void {
    if (this.isClosed || !this.intake.count(0, text.length)) return;
    this.received(text, () => {
      this.dialect.received(message);
      this.#pipes.receive(message);
    });
  }

  /** A program that runs a call may be too busy to answer a ping. */
  #watch(): void {
    let asked = false;
    let seen = this.lastSeenAt;
    let misses = 0;
    const timer = this.clock.every(pingEveryMs, () => {
      const { busy, isReady, lastSeenAt } = this;
      misses = !asked || busy || lastSeenAt > seen ? 0 : misses + 1;
      seen = lastSeenAt;
      asked = isReady && !busy;
      if (misses >= maxMisses) this.close(1011, "the program behind the connection does not answer");
      // An error is a sign of life too.
      else if (asked) void this.dialect.ask("ping", pingEveryMs).catch(() => undefined);
    });
    const start = this.clock.after(startMs, () => {
      if (!this.#introduced) this.close(1011, "the provider did not answer in time");
    });
    this.#socket.on("close", () => {
      timer.cancel();
      start.cancel();
    });
  }
}

/** Never splits a character. */
function shortened(reason: string): string {
  let bytes = 0;
  let end = 0;
  for (const character of reason) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxReasonBytes) break;
    end += character.length;
  }
  return reason.slice(0, end);
}

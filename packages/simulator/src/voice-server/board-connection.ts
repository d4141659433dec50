import type { IncomingHttpHeaders } from "node:http";
import type { WebSocket } from "ws";
import { chime, chimeFrameMs } from "../chime.ts";
import { type Clock, Timers } from "../clock.ts";
import { type AudioVersion, packAudio } from "../esp32/esp32.ts";
import { VoiceMcpClient } from "./mcp-client.ts";
import type { VoiceScript } from "./server.ts";
import type { ServerFaultName } from "./server-faults.ts";

/** One unmodified message from the board. */
export type Received =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "audio"; readonly frame: Buffer };

/** Events of the server, for observers. */
export type VoiceEvent =
  | { readonly kind: "arrived"; readonly device: string }
  | { readonly kind: "listed"; readonly device: string; readonly tools: number }
  | { readonly kind: "answered"; readonly device: string; readonly heard: number; readonly said: number }
  | { readonly kind: "left"; readonly device: string };

export interface BoardConnectionOptions {
  readonly socket: WebSocket;
  readonly headers: IncomingHttpHeaders;
  readonly sessionId: string;
  readonly script: VoiceScript;
  readonly faults: ReadonlySet<ServerFaultName>;
  readonly record: boolean;
  readonly clock: Clock;
  readonly onEvent: (event: VoiceEvent) => void;
}

const slowHelloMs = 4_000;
const flushMs = 50;

/** The connection of a board, or of a relay for it. */
export class BoardConnection {
  readonly headers: IncomingHttpHeaders;
  readonly mcp: VoiceMcpClient;
  /** All received messages, if the server keeps them. */
  readonly received: Received[] = [];
  /** Resolves when the connection has ended, with its code. */
  readonly ended: Promise<number>;
  readonly #options: BoardConnectionOptions;
  readonly #timers: Timers;
  readonly #version: AudioVersion;
  #packets = 0;
  #listening = false;
  /** Counts answers, so that an interrupted one stops. */
  #answer = 0;
  answers = 0;
  packetsHeard = 0;
  packetsSaid = 0;

  constructor(options: BoardConnectionOptions) {
    this.#options = options;
    this.headers = options.headers;
    this.#timers = new Timers(options.clock);
    const version = Number(options.headers["protocol-version"]);
    this.#version = version === 2 || version === 3 ? version : 1;
    this.mcp = new VoiceMcpClient((payload) => this.say({ type: "mcp", payload }));
    options.socket.on("message", (data: Buffer, isBinary) => this.#received(data, isBinary));
    options.socket.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      options.socket.once("close", (code) => {
        this.#answer += 1;
        this.#timers.clear();
        resolve(code);
      });
    });
    options.onEvent({ kind: "arrived", device: this.device });
    void this.ended.then(() => options.onEvent({ kind: "left", device: this.device }));
    if (options.faults.has("refuse-in-words")) {
      this.sayRaw("authentication failed");
      this.close(1000);
    }
  }

  /** The Device-Id of the request. */
  get device(): string {
    return String(this.headers["device-id"] ?? "unknown");
  }

  get sessionId(): string {
    return this.#options.sessionId;
  }

  /** Whether the board listens and has not been answered yet. */
  get listening(): boolean {
    return this.#listening;
  }

  /** Sends a message with the session id. */
  say(message: { readonly type: string; readonly [key: string]: unknown }): void {
    this.sayRaw(JSON.stringify({ ...message, session_id: this.sessionId }));
    if (this.#options.faults.has("garbage")) {
      this.sayRaw("this is not JSON");
      this.#send(Buffer.from([0, 2, 0, 0, 0, 0, 0]), true);
    }
  }

  sayRaw(text: string): void {
    this.#send(Buffer.from(text), false);
  }

  /** Sends one Opus packet in the board's framing. */
  sayAudio(packet: Uint8Array, timestamp = 0): void {
    this.packetsSaid += 1;
    this.#send(packAudio(this.#version, packet, timestamp), true);
  }

  close(code = 1000): void {
    this.#options.socket.close(code);
  }

  drop(): void {
    this.#options.socket.terminate();
  }

  /** Answers as if a question had just ended. */
  async answer(): Promise<void> {
    const { script } = this.#options;
    this.#answer += 1;
    const turn = this.#answer;
    this.#listening = false;
    this.say({ type: "stt", text: script.recognizedText });
    if (script.tool !== undefined) {
      await this.mcp.call(script.tool.name, script.tool.arguments);
      if (turn !== this.#answer) return;
    }
    this.say({ type: "llm", emotion: script.emotion, text: "🙂" });
    this.say({ type: "tts", state: "start" });
    for (const sentence of script.sentences) {
      this.say({ type: "tts", state: "sentence_start", text: sentence });
      if (!(await this.#speak(turn))) return;
    }
    this.say({ type: "tts", state: "stop" });
    this.answers += 1;
    this.#options.onEvent({
      kind: "answered",
      device: this.device,
      heard: this.#packets,
      said: chime.length * script.sentences.length,
    });
  }

  async #speak(turn: number): Promise<boolean> {
    const { faults, script } = this.#options;
    const rounds = faults.has("flood") ? 500 : 1;
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, packet] of chime.entries()) {
        if (turn !== this.#answer) return false;
        this.sayAudio(packet, index * chimeFrameMs);
        if (index === 5 && faults.has("close-mid-sentence")) this.close();
        if (index === 5 && faults.has("drop-mid-sentence")) {
          // Earlier messages are sent by then; dropping the connection discards the rest.
          await this.#timers.sleep(flushMs);
          this.drop();
        }
        await this.#timers.sleep(script.paceMs);
      }
    }
    return turn === this.#answer;
  }

  #received(data: Buffer, isBinary: boolean): void {
    if (this.#options.record) {
      this.received.push(isBinary ? { kind: "audio", frame: data } : { kind: "text", text: data.toString() });
    }
    if (isBinary) this.#heardAudio();
    else this.#heardText(data.toString());
  }

  #heardAudio(): void {
    this.packetsHeard += 1;
    if (!this.#listening) return;
    this.#packets += 1;
    if (this.#packets >= this.#options.script.questionPackets) void this.answer();
  }

  #heardText(text: string): void {
    const message = parse(text);
    switch (message["type"]) {
      case "hello":
        void this.#greet(message);
        return;
      case "mcp":
        this.mcp.received(message["payload"]);
        return;
      case "listen":
        this.#listens(message["state"]);
        return;
      case "abort":
        this.#answer += 1;
        this.say({ type: "tts", state: "stop" });
        return;
      default:
    }
  }

  #listens(state: unknown): void {
    if (state === "start") {
      this.#listening = true;
      this.#packets = 0;
    } else if (state === "stop" && this.#listening) void this.answer();
  }

  async #greet(hello: { readonly [key: string]: unknown }): Promise<void> {
    const { faults, script, socket } = this.#options;
    if (faults.has("silent") || faults.has("refuse-in-words")) return;
    if (faults.has("leave-before-hello")) {
      this.close();
      return;
    }
    if (faults.has("slow-hello")) await this.#timers.sleep(slowHelloMs);
    const answer = {
      type: "hello",
      version: 1,
      transport: "websocket",
      session_id: this.sessionId,
      audio_params: { format: "opus", sample_rate: 24_000, channels: 1, frame_duration: chimeFrameMs },
    };
    const { session_id: _, ...withoutId } = answer;
    this.sayRaw(JSON.stringify(faults.has("no-session-id") ? withoutId : answer));
    if (faults.has("deaf")) socket.pause();
    const features = hello["features"] as { readonly mcp?: unknown } | undefined;
    if (features?.mcp !== true) return;
    await this.mcp.setUp(script.capabilities);
    this.#options.onEvent({ kind: "listed", device: this.device, tools: this.mcp.tools.length });
  }

  #send(data: Buffer, binary: boolean): void {
    const { socket } = this.#options;
    if (socket.readyState === socket.OPEN) socket.send(data, { binary });
  }
}

function parse(text: string): { readonly [key: string]: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as { readonly [key: string]: unknown };
  } catch {
    return {};
  }
}

import WebSocket from "ws";
import { DeviceOptionError } from "../errors.ts";
import { type AudioVersion, packAudio, unpackAudio } from "./audio-frame.ts";
import { type ByteText, fromBuffer, fromText, toBuffer } from "./byte-text.ts";
import { type CjsonNode, member, parseCjsonByLength, stringMember } from "./cjson-parse.ts";
import { printJson } from "./cjson-print.ts";
import { requestPath } from "./http-address.ts";
import type { OpenOutcome, SendOutcome, Transport, TransportFactory, TransportHost } from "./transport.ts";

export interface WebSocketOptions {
  readonly url: string;
  /** Sent unchanged if it contains a space, otherwise with "Bearer " before it. */
  readonly token?: string;
  readonly version?: AudioVersion;
  readonly handshakeMs?: number;
  /** Trusted instead of the public authorities. */
  readonly ca?: string | Buffer;
  /** No certificate check, as on cellular modems. */
  readonly insecureTls?: boolean;
}

/** The library on the device refuses to send more in one frame. */
const frameLimit = 65_535;
/** A device is limited only by its memory; this is the largest module's. */
const receiveLimit = 8 * 1024 * 1024;
/** Silence after which the device considers its channel closed. */
const lapseMs = 120_000;

type Link =
  | { readonly at: "closed" }
  | {
      readonly at: "dialling";
      readonly socket: DeviceSocket;
      readonly settle: (outcome: OpenOutcome) => void;
    }
  | {
      readonly at: "greeting";
      readonly socket: DeviceSocket;
      readonly settle: (outcome: OpenOutcome) => void;
    }
  | { readonly at: "open"; readonly socket: DeviceSocket };

/**
 * A client without Close frames: the firmware neither sends nor answers them. The library reports a received Close frame
 * by calling close(), so that is overridden.
 */
class DeviceSocket extends WebSocket {
  onCloseFrame: (code: number) => void = () => undefined;

  override close(code = 1005): void {
    this.onCloseFrame(code);
  }
}

export function webSocketTransport(options: WebSocketOptions): TransportFactory {
  if (!/^wss?:$/.test(URL.canParse(options.url) ? new URL(options.url).protocol : "")) {
    throw new DeviceOptionError(`"${options.url}" is not a ws:// or wss:// address`);
  }
  return (host) => new WebSocketTransport(options, host);
}

class WebSocketTransport implements Transport {
  readonly audio = undefined;
  readonly retry = undefined;
  readonly #options: WebSocketOptions;
  readonly #host: TransportHost;
  readonly #version: AudioVersion;
  #link: Link = { at: "closed" };
  /** Closed by the server's Close frame; the server has to end the TCP connection. */
  #lingering: DeviceSocket | undefined;
  #sessionId = fromText("");
  #lastHeard = 0;

  constructor(options: WebSocketOptions, host: TransportHost) {
    this.#options = options;
    this.#host = host;
    this.#version = options.version ?? 1;
  }

  get sessionId(): ByteText {
    return this.#sessionId;
  }

  get isOpen(): boolean {
    return this.#link.at === "open" && this.#host.timers.now() - this.#lastHeard <= lapseMs;
  }

  async open(): Promise<OpenOutcome> {
    this.close();
    return await new Promise((resolve) => {
      const socket = new DeviceSocket(withoutFragment(this.#options.url), {
        headers: this.#headers(),
        perMessageDeflate: false,
        handshakeTimeout: this.#options.handshakeMs ?? 10_000,
        maxPayload: receiveLimit,
        skipUTF8Validation: true,
        autoPong: this.#host.pong,
        // The library rejects fragments; the firmware sends them as part of the path.
        finishRequest: (request) => {
          request.path = requestPath(this.#options.url);
          request.end();
        },
        ...(this.#options.ca === undefined ? {} : { ca: this.#options.ca }),
        ...(this.#options.insecureTls === true ? { rejectUnauthorized: false } : {}),
      });
      this.#link = { at: "dialling", socket, settle: resolve };
      socket.onCloseFrame = (code) => this.#lost(socket, "server-close", code);
      socket.on("open", () => this.#greet(socket));
      socket.on("message", (data: Buffer, isBinary: boolean) => this.#receive(socket, data, isBinary));
      socket.on("unexpected-response", (_request, response) => {
        const detail = `the server answered ${response.statusCode} instead of switching protocols`;
        this.#fail(socket, { ok: false, code: "handshake_refused", detail });
      });
      socket.on("error", (cause) => this.#fail(socket, unreachable(this.#options.url, cause)));
      socket.on("close", (code) => this.#lost(socket, "network", code));
    });
  }

  close(): void {
    this.#lingering?.terminate();
    this.#lingering = undefined;
    const link = this.#link;
    if (link.at === "closed") return;
    this.#link = { at: "closed" };
    link.socket.terminate();
    if (link.at !== "open")
      link.settle({ ok: false, code: "closed_early", detail: "the device disconnected" });
  }

  drop(): void {
    this.close();
  }

  forget(): void {
    this.#sessionId = fromText("");
  }

  sendText(text: ByteText): SendOutcome {
    const outcome = this.#write(toBuffer(text), false);
    if (outcome === "sent") this.#host.frame("out", text);
    return outcome;
  }

  sendAudio(packet: Uint8Array, timestamp: number): SendOutcome {
    return this.#write(packAudio(this.#version, packet, timestamp), true);
  }

  #write(data: Buffer, binary: boolean): SendOutcome {
    if (this.#link.at !== "open" && this.#link.at !== "greeting") return "closed";
    if (data.length > frameLimit) return "too-large";
    this.#link.socket.send(data, { binary });
    return "sent";
  }

  #headers(): Record<string, string> {
    const { url, token } = this.#options;
    const authorization = token === undefined || token === "" ? {} : { Authorization: bearer(token) };
    return {
      Host: new URL(url).hostname,
      ...authorization,
      "Protocol-Version": String(this.#version),
      "Device-Id": this.#host.board.mac,
      "Client-Id": this.#host.board.clientId,
    };
  }

  #greet(socket: DeviceSocket): void {
    if (this.#link.at !== "dialling" || this.#link.socket !== socket) return;
    const { settle } = this.#link;
    this.#link = { at: "greeting", socket, settle };
    this.#lastHeard = this.#host.timers.now();
    const greeting = this.#host.greeting();
    if (greeting !== undefined) {
      this.sendText(
        printJson({
          type: "hello",
          version: this.#version,
          features: greeting.features,
          ...(greeting.textFont === undefined ? {} : { text_font: greeting.textFont }),
          transport: "websocket",
          audio_params: { format: "opus", sample_rate: 16000, channels: 1, frame_duration: 60 },
        }),
      );
    }
    const cancel = this.#host.timers.after(this.#host.helloWaitMs, () => {
      this.#greeted(socket, { ok: false, code: "hello_timeout", detail: "the server sent no usable hello" });
    });
    this.#link = {
      at: "greeting",
      socket,
      settle: (outcome) => {
        cancel();
        settle(outcome);
      },
    };
  }

  /** Without a usable hello the socket stays open too, and the device answers requests on it. */
  #greeted(socket: DeviceSocket, outcome: OpenOutcome): void {
    if (this.#link.at !== "greeting" || this.#link.socket !== socket) return;
    const { settle } = this.#link;
    this.#link = { at: "open", socket };
    settle(outcome);
  }

  #receive(socket: DeviceSocket, data: Buffer, isBinary: boolean): void {
    if (this.#link.at === "closed" || this.#link.socket !== socket) return;
    this.#lastHeard = this.#host.timers.now();
    if (isBinary) {
      const packet = unpackAudio(this.#version, data);
      if (packet === undefined) this.#host.ignored("an audio frame shorter than it says");
      else this.#host.audio(packet);
      return;
    }
    const text = fromBuffer(data);
    this.#host.frame("in", text);
    const message = parseCjsonByLength(text);
    const type = stringMember(message, "type");
    if (message === undefined || type === undefined) this.#host.ignored("Missing message type");
    else if (type === "hello") this.#serverHello(socket, message);
    else this.#host.message(type, message);
  }

  #serverHello(socket: DeviceSocket, message: CjsonNode): void {
    const transport = stringMember(message, "transport");
    if (transport === undefined) {
      this.#host.crashed("server hello without a transport");
      return;
    }
    if (transport !== "websocket") {
      this.#host.ignored("server hello for another transport");
      return;
    }
    const sessionId = member(message, "session_id");
    if (sessionId?.kind === "string") this.#sessionId = sessionId.value;
    this.#greeted(socket, { ok: true });
  }

  #fail(socket: DeviceSocket, outcome: OpenOutcome): void {
    const link = this.#link;
    socket.terminate();
    if (link.at === "closed" || link.socket !== socket) return;
    if (link.at === "open") return;
    this.#link = { at: "closed" };
    link.settle(outcome);
  }

  #lost(socket: DeviceSocket, reason: "server-close" | "network", code: number): void {
    const link = this.#link;
    if (link.at === "closed" || link.socket !== socket) return;
    this.#link = { at: "closed" };
    if (reason === "server-close") this.#lingering = socket;
    if (link.at === "open") this.#host.closed(reason, code);
    else
      link.settle({
        ok: false,
        code: "closed_early",
        detail: `the server closed (${code}) before its hello`,
      });
  }
}

function withoutFragment(url: string): string {
  return url.replace(/#.*$/s, "");
}

function bearer(token: string): string {
  return token.includes(" ") ? token : `Bearer ${token}`;
}

function unreachable(url: string, cause: Error): OpenOutcome {
  return { ok: false, code: "unreachable", detail: `${url}: ${cause.message}`, cause };
}

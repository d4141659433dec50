/**
 * One device's WebSocket: its link, and the valve of its intake. A node has tens of thousands, so all of them share their
 * listeners, and each has one object.
 */
import type { Duplex } from "node:stream";
import { limits } from "@tendon/protocol";
import { type RawData, WebSocket } from "ws";
import { Batch } from "../batch.ts";
import type { Clock } from "../clock.ts";
import { boardRates, Intake, type IntakeValve } from "../intake.ts";
import type { BoardSession } from "./board-session.ts";
import type { AudioChannel, DeviceIdentity, DeviceLink } from "./link.ts";

/** [DEV-11] The firmware never closes TCP after a Close frame, so the gateway does, after this time. */
export const closeGraceMs = 1_000;

/** What all sockets report to. */
export interface DeviceSocketOwner {
  readonly clock: Clock;
  open(identity: DeviceIdentity, link: DeviceLink): BoardSession;
  /** The device no longer waits for its hello. */
  greeted(): void;
  /** The device sends too much and is not read for a moment. */
  paused(deviceId: string): void;
  cutOff(deviceId: string): void;
  closed(socket: DeviceWebSocket): void;
}

/** A socket that knows its device, so that listeners can be shared. */
export class DeviceWebSocket extends WebSocket {
  link: WebSocketLink | undefined;
}

export function openDeviceSocket(
  socket: DeviceWebSocket,
  connection: Duplex,
  identity: DeviceIdentity,
  owner: DeviceSocketOwner,
): BoardSession {
  const link = new WebSocketLink(socket, connection, identity.deviceId, owner);
  const session = owner.open(identity, link);
  link.session = session;
  socket.link = link;
  // All bytes, also those of fragments and control frames.
  connection.prependListener("data", (chunk: Buffer) => link.intake.count(0, chunk.byteLength));
  socket.on("message", messageReceived);
  socket.on("ping", pingReceived);
  socket.on("pong", pongReceived);
  socket.on("error", failed);
  socket.on("close", closed);
  return session;
}

class WebSocketLink implements DeviceLink, IntakeValve {
  readonly intake: Intake;
  session: BoardSession | undefined;
  readonly #socket: DeviceWebSocket;
  readonly #connection: Duplex;
  readonly #deviceId: string;
  readonly #owner: DeviceSocketOwner;
  #isWaiting = true;
  #isCorked = false;
  #audio: AudioChannel | undefined;

  constructor(socket: DeviceWebSocket, connection: Duplex, deviceId: string, owner: DeviceSocketOwner) {
    this.#socket = socket;
    this.#connection = connection;
    this.#deviceId = deviceId;
    this.#owner = owner;
    this.intake = new Intake(owner.clock, boardRates, this);
  }

  get transport() {
    return "websocket" as const;
  }

  get audio(): AudioChannel {
    this.#audio ??= { send: (frame, sent) => this.#sendFrame(frame, sent) };
    return this.#audio;
  }

  /** What the session answers at once leaves in one write: the hello and the first request. */
  received(bytes: Buffer, isBinary: boolean): void {
    if (!this.intake.count(1, 0)) return;
    this.#connection.cork();
    if (isBinary) this.session?.receiveBinary(bytes);
    else this.session?.receiveText(bytes.toString());
    this.#connection.uncork();
    this.#settle();
  }

  send(text: string): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return false;
    if (this.#socket.bufferedAmount > limits.deviceSendBufferBytes.max) return false;
    this.intake.expectAnswer(limits.deviceFrameBytes.max);
    if (this.#isCorked) this.#socket.send(text);
    else {
      this.#isCorked = true;
      this.#connection.cork();
      this.#socket.send(text);
      written.add(this);
    }
    return true;
  }

  /** Everything that was sent leaves in one write. */
  uncork(): void {
    this.#isCorked = false;
    this.#connection.uncork();
  }

  ping(): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.intake.expectAnswer(limits.deviceFrameBytes.max);
    this.#socket.ping();
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason.slice(0, 100));
    const timer = this.#owner.clock.after(closeGraceMs, () => this.#socket.terminate());
    this.#socket.once("close", () => timer.cancel());
  }

  ended(code: number): void {
    this.intake.end();
    this.session?.linkClosed(closeReason(code));
    this.#settle();
    this.#owner.closed(this.#socket);
  }

  pause(): void {
    this.#owner.paused(this.#deviceId);
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  cut(exceeded: "frames" | "bytes"): void {
    this.#owner.cutOff(this.#deviceId);
    this.session?.flooded(exceeded);
  }

  #sendFrame(frame: Uint8Array, sent: () => void): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return false;
    if (this.#socket.bufferedAmount > limits.deviceSendBufferBytes.max) return false;
    this.#socket.send(frame, sent);
    return true;
  }

  #settle(): void {
    if (!this.#isWaiting || this.session?.state.kind === "awaiting_hello") return;
    this.#isWaiting = false;
    this.#owner.greeted();
  }
}

/** Shared by all devices, because most of the cost of a frame is the system call. */
const written = new Batch<WebSocketLink>((link) => link.uncork());

function messageReceived(this: WebSocket, data: RawData, isBinary: boolean): void {
  // Safe: `binaryType` is never set, so that messages are buffers.
  linkOf(this)?.received(data as Buffer, isBinary);
}

function pingReceived(this: WebSocket, data: Buffer): void {
  if (linkOf(this)?.intake.count(1, 0) === true) this.pong(data);
}

function pongReceived(this: WebSocket): void {
  const link = linkOf(this);
  if (link?.intake.count(1, 0) === true) link.session?.alive();
}

/**
 * `close` follows a broken socket. After a protocol violation the device may keep the connection open for long after our
 * Close frame, and nothing is read from it, so the session ends at once [DEV-11].
 */
function failed(this: WebSocket, error: Error): void {
  const fault = faultOf(error);
  if (fault !== undefined) linkOf(this)?.session?.close(fault.code, fault.reason);
}

function closed(this: WebSocket, code: number): void {
  linkOf(this)?.ended(code);
}

function linkOf(socket: WebSocket): WebSocketLink | undefined {
  return socket instanceof DeviceWebSocket ? socket.link : undefined;
}

function faultOf(error: Error): { readonly code: number; readonly reason: string } | undefined {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH")
    return { code: 1009, reason: "the device sent a frame that is too large" };
  if (code.startsWith("WS_ERR")) return { code: 1002, reason: "the device violated the WebSocket protocol" };
  return undefined;
}

function closeReason(code: number): string {
  if (code === 1006) return "the connection was lost";
  return `the device closed the connection (${code})`;
}

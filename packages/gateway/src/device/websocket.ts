/** Devices over WebSocket [DEV-6…11]: the HTTP upgrade, then frames in both directions. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { limits } from "@tendon/protocol";
import { type RawData, type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { boardRates, FlooderRefused, type Flooders, Intake } from "../intake.ts";
import { refuseOnSocket } from "../problem-document.ts";
import { admitOrRefresh } from "../refreshed-admission.ts";
import { type Admit, readClaim } from "./admission.ts";
import type { BoardSession } from "./board-session.ts";
import type { AudioChannel, DeviceIdentity, DeviceLink } from "./link.ts";

/** [DEV-11] The firmware never closes TCP after a Close frame, so the gateway does, after this time. */
const closeGraceMs = 1_000;
const tcpKeepAliveMs = 60_000;

export interface WebSocketDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly admit: Admit;
  readonly flooders: Flooders;
  /** The client's address, read through a trusted proxy. */
  readonly addressOf: (request: IncomingMessage) => string | undefined;
  /** Counts a failed sign-in. Returns how long the address has to wait [PRV-8]. */
  readonly signInFailed: (from: string | undefined) => number;
  /** Reads the credentials of a device again before it is rejected; `undefined` if this node knows all of them. */
  readonly refreshCredentials: (deviceId: string) => Promise<void> | undefined;
  readonly open: (identity: DeviceIdentity, link: DeviceLink) => BoardSession;
}

export class WebSocketDevices {
  readonly #dependencies: WebSocketDependencies;
  readonly #server: WebSocketServer;
  readonly #sockets = new Map<WebSocket, BoardSession>();
  #waitingForHello = 0;
  #stopped = false;
  #onEmpty: (() => void) | undefined;

  constructor(dependencies: WebSocketDependencies) {
    this.#dependencies = dependencies;
    // The published types lack `closeTimeout`.
    const options: ServerOptions & { readonly closeTimeout: number } = {
      // A pong for each of ten thousand pings in one chunk would block everybody else.
      autoPong: false,
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: limits.deviceFrameBytes.max,
      // Invalid UTF-8 makes one bad frame and must not close the connection.
      skipUTF8Validation: true,
      closeTimeout: closeGraceMs,
    };
    this.#server = new WebSocketServer(options);
    this.#server.on("wsClientError", ({ message }, socket, request) => {
      const error = new TendonError("bad_request", `the WebSocket handshake is invalid: ${message}`);
      this.#refuse(request, socket, error, ["Sec-WebSocket-Version: 13, 8"]);
    });
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    admitOrRefresh(() => this.#admit(request), {
      refresh: (error) => {
        const refreshed = this.#refreshAfter(error, request);
        if (refreshed !== undefined) socket.on("error", () => socket.destroy());
        return refreshed;
      },
      rejected: (error) => this.#refuse(request, socket, error),
      accepted: (identity) => {
        // Detects a vanished peer that answers no pings and speaks no MCP.
        request.socket.setKeepAlive(true, tcpKeepAliveMs);
        this.#server.handleUpgrade(request, socket, head, (webSocket) =>
          this.#accept(identity, webSocket, request.socket),
        );
      },
    });
  }

  #refreshAfter(error: unknown, { headers }: IncomingMessage): Promise<void> | undefined {
    if (!(error instanceof TendonError) || !isSignInError(error)) return undefined;
    return this.#dependencies.refreshCredentials(readClaim(headers).deviceId);
  }

  /** Rejects new connections from now on. */
  rejectNew(): void {
    this.#stopped = true;
  }

  /** Rejects new connections and closes all others; resolves when the last socket has closed. */
  closeAll(): Promise<void> {
    this.#stopped = true;
    for (const session of this.#sockets.values()) session.close(1001, "the gateway is stopping", false);
    if (this.#sockets.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  /** Terminates the remaining sockets. */
  stop(): void {
    this.#stopped = true;
    for (const socket of this.#sockets.keys()) socket.terminate();
  }

  #admit(request: IncomingMessage): DeviceIdentity {
    if (this.#stopped) throw new TendonError("shutting_down", "the gateway is stopping");
    if (this.#waitingForHello >= limits.devicesWaitingForHello.max) {
      throw new TendonError("rate_limited", "too many connections are waiting for a hello; retry later");
    }
    if (this.#sockets.size >= limits.connectedDevices.max) {
      throw new TendonError(
        "rate_limited",
        `this node has reached its limit of ${limits.connectedDevices.max} connected devices`,
      );
    }
    const claim = readClaim(request.headers);
    this.#dependencies.admit(claim);
    this.#dependencies.flooders.requireRest(claim.deviceId);
    return { deviceId: claim.deviceId, clientId: claim.clientId };
  }

  #refuse(request: IncomingMessage, socket: Duplex, cause: unknown, headers: readonly string[] = []): void {
    const error = this.#reportRefusal(request, cause);
    const retry = error.code === "rate_limited" ? ["Retry-After: 1"] : [];
    refuseOnSocket(socket, error, [...retry, ...headers]);
  }

  /** Logs the refusal, unless the address is throttled, and returns the error for the response. */
  #reportRefusal(request: IncomingMessage, cause: unknown): TendonError {
    const error =
      cause instanceof TendonError
        ? cause
        : new TendonError(
            "internal",
            "an internal error occurred while the connection was opened",
            {},
            cause,
          );
    if (error instanceof FlooderRefused) {
      this.#dependencies.events.connectionThrottled();
      return error;
    }
    const from = this.#dependencies.addressOf(request);
    if (isSignInError(error) && this.#dependencies.signInFailed(from) > 0) {
      this.#dependencies.events.connectionThrottled();
      return new TendonError("rate_limited", "too many failed sign-ins from this address; retry later");
    }
    const named = request.headers["device-id"];
    const device = typeof named === "string" ? named.slice(0, 64) : undefined;
    this.#dependencies.events.connectionRefused({ code: error.code, reason: error.message, device, from });
    return error;
  }

  #accept(identity: DeviceIdentity, socket: WebSocket, connection: Duplex): void {
    this.#waitingForHello += 1;
    let waiting = true;
    const intake = new Intake(this.#dependencies.clock, boardRates, {
      pause: () => {
        this.#dependencies.events.connectionPaused(identity.deviceId);
        socket.pause();
      },
      resume: () => socket.resume(),
      cut: (exceeded) => {
        this.#dependencies.flooders.cutOff(identity.deviceId);
        session.flooded(exceeded);
      },
    });
    const link = new WebSocketLink(socket, this.#dependencies.clock, intake);
    const session = this.#dependencies.open(identity, link);
    this.#sockets.set(socket, session);
    const settle = () => {
      if (waiting && session.state.kind !== "awaiting_hello") {
        waiting = false;
        this.#waitingForHello -= 1;
      }
    };
    // All bytes, also those of fragments and control frames.
    connection.prependListener("data", (chunk: Buffer) => intake.count(0, chunk.byteLength));
    socket.on("message", (data: RawData, isBinary: boolean) => {
      if (!intake.count(1, 0)) return;
      const bytes = data as Buffer;
      if (isBinary) session.receiveBinary(bytes);
      else session.receiveText(bytes.toString());
      if (waiting) settle();
    });
    socket.on("ping", (data: Buffer) => {
      if (intake.count(1, 0)) socket.pong(data);
    });
    socket.on("pong", () => {
      if (intake.count(1, 0)) session.alive();
    });
    // `close` follows a broken socket. After a protocol violation the device may keep the connection open for long
    // after our Close frame, and nothing is read from it, so the session ends at once [DEV-11].
    socket.on("error", (error) => {
      const fault = faultOf(error);
      if (fault !== undefined) session.close(fault.code, fault.reason);
    });
    socket.on("close", (code) => {
      this.#sockets.delete(socket);
      intake.end();
      session.linkClosed(closeReason(code));
      settle();
      if (this.#sockets.size === 0) this.#onEmpty?.();
    });
  }
}

class WebSocketLink implements DeviceLink {
  readonly transport = "websocket";
  readonly audio: AudioChannel = { send: (frame, sent) => this.#sendFrame(frame, sent) };
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #intake: Intake;

  constructor(socket: WebSocket, clock: Clock, intake: Intake) {
    this.#socket = socket;
    this.#clock = clock;
    this.#intake = intake;
  }

  send(text: string): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return false;
    if (this.#socket.bufferedAmount > limits.deviceSendBufferBytes.max) return false;
    this.#intake.expectAnswer(limits.deviceFrameBytes.max);
    this.#socket.send(text);
    return true;
  }

  #sendFrame(frame: Uint8Array, sent: () => void): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return false;
    if (this.#socket.bufferedAmount > limits.deviceSendBufferBytes.max) return false;
    this.#socket.send(frame, sent);
    return true;
  }

  ping(): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#intake.expectAnswer(limits.deviceFrameBytes.max);
    this.#socket.ping();
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason.slice(0, 100));
    const timer = this.#clock.after(closeGraceMs, () => this.#socket.terminate());
    this.#socket.once("close", () => timer.cancel());
  }
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

function isSignInError({ code }: TendonError): boolean {
  return code === "unauthenticated" || code === "forbidden";
}

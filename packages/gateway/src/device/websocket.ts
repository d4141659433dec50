/** Devices over WebSocket [DEV-6…11]: the HTTP upgrade, then frames in both directions. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { limits } from "@tendon/protocol";
import { type Server, type ServerOptions, WebSocketServer } from "ws";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { FlooderRefused, type Flooders } from "../intake.ts";
import { refuseOnSocket } from "../problem-document.ts";
import { admitOrRefresh } from "../refreshed-admission.ts";
import { type Admit, readClaim } from "./admission.ts";
import type { BoardSession } from "./board-session.ts";
import type { DeviceIdentity, DeviceLink } from "./link.ts";
import { closeGraceMs, type DeviceSocketOwner, DeviceWebSocket, openDeviceSocket } from "./websocket-link.ts";

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

export class WebSocketDevices implements DeviceSocketOwner {
  readonly #dependencies: WebSocketDependencies;
  readonly #server: Server<typeof DeviceWebSocket>;
  readonly #sockets = new Map<DeviceWebSocket, BoardSession>();
  #waitingForHello = 0;
  #stopped = false;
  #onEmpty: (() => void) | undefined;

  constructor(dependencies: WebSocketDependencies) {
    this.#dependencies = dependencies;
    // The published types lack `closeTimeout`.
    const options: ServerOptions<typeof DeviceWebSocket> & { readonly closeTimeout: number } = {
      WebSocket: DeviceWebSocket,
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

  #accept(identity: DeviceIdentity, socket: DeviceWebSocket, connection: Duplex): void {
    this.#waitingForHello += 1;
    this.#sockets.set(socket, openDeviceSocket(socket, connection, identity, this));
  }

  get clock(): Clock {
    return this.#dependencies.clock;
  }

  open(identity: DeviceIdentity, link: DeviceLink): BoardSession {
    return this.#dependencies.open(identity, link);
  }

  greeted(): void {
    this.#waitingForHello -= 1;
  }

  paused(deviceId: string): void {
    this.#dependencies.events.connectionPaused(deviceId);
  }

  cutOff(deviceId: string): void {
    this.#dependencies.flooders.cutOff(deviceId);
  }

  closed(socket: DeviceWebSocket): void {
    this.#sockets.delete(socket);
    if (this.#sockets.size === 0) this.#onEmpty?.();
  }
}

function isSignInError({ code }: TendonError): boolean {
  return code === "unauthenticated" || code === "forbidden";
}

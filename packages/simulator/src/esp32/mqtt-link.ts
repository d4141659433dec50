import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { MqttClient } from "mqtt";
import { keepaliveSeconds, type MqttAddress, type MqttOptions } from "./mqtt-settings.ts";
import type { OpenOutcome } from "./transport.ts";

export interface LinkHost {
  /** False: the link never sends a ping, so that the broker has to detect a dead connection. */
  readonly pings: boolean;
  settled(outcome: OpenOutcome): void;
  message(payload: Buffer): void;
  /** An accepted connection ended, and not by this side. */
  lost(): void;
  /** A message is larger than any board can hold. */
  flooded(): void;
}

/** A device is limited only by its memory; this is the largest module's. */
const receiveLimit = 8 * 1024 * 1024;
/** Closes the socket of a disconnected device even if the broker no longer reads. */
const closeTimeoutMs = 1_000;
/** Bad user name or password, and not authorized. */
const credentialCodes: ReadonlySet<number> = new Set([4, 5]);

/**
 * One connection to a broker, from connecting to its end. To reconnect, the device creates a new one. After end() or
 * drop() it reports nothing more.
 */
export class MqttLink {
  readonly #options: MqttOptions;
  readonly #address: MqttAddress;
  readonly #host: LinkHost;
  readonly #socket: Socket;
  readonly #client: DeviceClient;
  #at: "dialling" | "up" | "over" = "dialling";
  #failure: Error | undefined;
  #unread = 0;

  constructor(options: MqttOptions, address: MqttAddress, host: LinkHost) {
    this.#options = options;
    this.#address = address;
    this.#host = host;
    this.#socket = dial(options, address).setNoDelay(true);
    this.#client = this.#makeClient();
    this.#socket.on("data", (chunk: Buffer) => this.#count(chunk.length));
    this.#socket.on("error", (error) => {
      this.#failure ??= error;
    });
    this.#client.connect();
  }

  get up(): boolean {
    return this.#at === "up";
  }

  publish(topic: string, payload: Buffer): boolean {
    if (this.#at !== "up" || !this.#client.connected) return false;
    this.#client.publish(topic, payload, { qos: 0, retain: false });
    return true;
  }

  /** Sends a DISCONNECT after everything that was published before. */
  end(): void {
    if (this.#at !== "up") {
      this.drop();
      return;
    }
    this.#at = "over";
    this.#socket.setTimeout(closeTimeoutMs, () => this.#socket.destroy());
    this.#socket.once("finish", () => this.#socket.destroy());
    this.#client.end(false);
  }

  drop(): void {
    this.#at = "over";
    this.#client.end(true);
    this.#socket.destroy();
  }

  #makeClient(): DeviceClient {
    const { client_id, username = "", password = "", connectMs } = this.#options;
    const client = new DeviceClient(this.#socket, {
      manualConnect: true,
      protocolVersion: 4,
      clean: true,
      clientId: client_id,
      ...(username === "" ? {} : { username, password }),
      keepalive: keepaliveSeconds(this.#options),
      connectTimeout: connectMs ?? 10_000,
      reconnectPeriod: 0,
      queueQoSZero: false,
      resubscribe: false,
      log: () => undefined,
    });
    client.pings = this.#host.pings;
    client.on("connect", () => this.#accepted());
    client.on("message", (_topic, payload) => {
      if (this.#at !== "over") this.#host.message(payload);
    });
    client.on("packetreceive", () => {
      this.#unread = 0;
    });
    client.on("error", (error) => this.#failed(error));
    client.on("close", () => this.#closed());
    return client;
  }

  #accepted(): void {
    if (this.#at !== "dialling") return;
    const { subscribe } = this.#options;
    if (subscribe === undefined) this.#open();
    else {
      this.#client.subscribe(subscribe, { qos: 0 }, (error) => {
        if (error === null) this.#open();
        else this.#refuse({ ok: false, code: "handshake_refused", detail: `subscribing: ${error.message}` });
      });
    }
  }

  #open(): void {
    if (this.#at !== "dialling") return;
    this.#at = "up";
    this.#host.settled({ ok: true });
  }

  #count(bytes: number): void {
    this.#unread += bytes;
    if (this.#unread <= receiveLimit || this.#at === "over") return;
    this.drop();
    this.#host.flooded();
  }

  #failed(error: Error): void {
    this.#failure ??= error;
    if (this.#at === "dialling") this.#refuse(this.#outcome(error));
    else this.#socket.destroy();
  }

  #closed(): void {
    if (this.#at === "dialling") this.#refuse(this.#outcome(this.#failure));
    else if (this.#at === "up") {
      this.drop();
      this.#host.lost();
    }
  }

  #refuse(outcome: OpenOutcome): void {
    if (this.#at !== "dialling") return;
    this.drop();
    this.#host.settled(outcome);
  }

  #outcome(cause: (Error & { readonly code?: unknown }) | undefined): OpenOutcome {
    const place = `${this.#address.host}:${this.#address.port}`;
    if (typeof cause?.code === "number") {
      return {
        ok: false,
        code: credentialCodes.has(cause.code) ? "not_authorized" : "handshake_refused",
        detail: `${place} refused with CONNACK return code ${cause.code}`,
        cause,
      };
    }
    if (cause !== undefined) {
      return { ok: false, code: "unreachable", detail: `${place}: ${cause.message}`, cause };
    }
    return { ok: false, code: "closed_early", detail: `${place} closed before it accepted the device` };
  }
}

class DeviceClient extends MqttClient {
  pings = true;

  constructor(socket: Socket, options: ConstructorParameters<typeof MqttClient>[1]) {
    super(() => socket, options);
  }

  override sendPing(): void {
    if (this.pings) super.sendPing();
  }

  override onKeepaliveTimeout(): void {
    if (this.pings) super.onKeepaliveTimeout();
  }
}

function dial(options: MqttOptions, { host, port, tls }: MqttAddress): Socket {
  if (!tls) return connectTcp({ host, port });
  return connectTls({
    host,
    port,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    rejectUnauthorized: options.insecureTls !== true,
  });
}

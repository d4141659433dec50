/**
 * A client of an external broker. It speaks MQTT 5, and 3.1.1 with a broker that does not know MQTT 5. After a lost
 * connection it reconnects, with pauses that grow and are randomised, so that many gateways do not return all at once.
 */
import mqtt, { type IClientPublishOptions, type IPublishPacket, type MqttClient } from "mqtt";
import type { Clock, Timer } from "../clock.ts";
import { messageOf } from "../errors.ts";

export interface BrokerClientOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly url: string;
  /** Instead of the one in the address. */
  readonly password?: string | undefined;
  readonly clientId?: string | undefined;
  /** Published by the broker, retained, when the connection is lost. */
  readonly will?: { readonly topic: string; readonly payload: string } | undefined;
  /** The largest message to receive; announced to brokers of MQTT 5. */
  readonly maximumPacketSize?: number | undefined;
}

export interface BrokerClientListener {
  connected(): void;
  /** `wasConnected` is false if an attempt failed. */
  closed(wasConnected: boolean): void;
  error(message: string): void;
  message(topic: string, payload: Buffer, packet: IPublishPacket): void;
}

const firstPauseMs = 500;
const maxPauseMs = 30_000;
const keepAliveS = 30;
const politeMs = 1_000;
const connectTimeoutMs = 10_000;
/** CONNACK codes that say that the broker knows this version of MQTT, and rejects the client for another reason. */
const otherRefusals = new Set([2, 3, 4, 5, 133, 134, 135, 136, 137, 138, 151, 156, 157, 159]);

export class BrokerClient {
  readonly #options: BrokerClientOptions;
  readonly #listener: BrokerClientListener;
  #client: MqttClient;
  #version: 4 | 5 = 5;
  /** The library forgets the callbacks of messages without an acknowledgement when it reconnects. */
  readonly #pending = new Set<(error?: Error) => void>();
  #pauseMs = firstPauseMs;
  #timer: Timer | undefined;
  #stopped = false;
  #connected = false;
  /** The attempt reached the broker, which did not accept this version. */
  #wrongVersion = false;

  constructor(options: BrokerClientOptions, listener: BrokerClientListener) {
    this.#options = options;
    this.#listener = listener;
    this.#client = this.#open();
  }

  /** A client of its own for each attempt: the library keeps unacknowledged messages of a lost connection for ever. */
  #open(): MqttClient {
    const { url, password, clientId, will, maximumPacketSize } = this.#options;
    const client = mqtt.connect(url, {
      clean: true,
      reconnectPeriod: 0,
      connectTimeout: connectTimeoutMs,
      keepalive: keepAliveS,
      queueQoSZero: false,
      protocolVersion: this.#version,
      resubscribe: false,
      ...(password === undefined ? {} : { password }),
      ...(clientId === undefined ? {} : { clientId }),
      ...(will === undefined
        ? {}
        : { will: { ...will, payload: Buffer.from(will.payload), qos: 1, retain: true } }),
      ...(maximumPacketSize === undefined ? {} : { properties: { maximumPacketSize } }),
    });
    client.on("connect", () => this.#onConnect());
    client.once("close", () => {
      client.removeAllListeners("message");
      client.end(true);
      if (client === this.#client) this.#onClose();
    });
    client.on("error", (error) => this.#onError(error));
    client.on("message", (topic, payload, packet) => this.#listener.message(topic, payload, packet));
    return client;
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** The version of the current or the next connection: `5` or `3.1.1`. */
  get version(): string {
    return this.#version === 5 ? "5" : "3.1.1";
  }

  /** Returns false if there is no connection; the message is lost then. `done` is called once the broker has it. */
  publish(
    topic: string,
    payload: string | Buffer,
    options: IClientPublishOptions,
    done?: (error?: Error) => void,
  ): boolean {
    if (!this.#client.connected) return false;
    const pending = (error?: Error) => {
      if (this.#pending.delete(pending)) done?.(error);
    };
    this.#pending.add(pending);
    this.#client.publish(topic, payload, options, (error) => pending(error ?? undefined));
    return true;
  }

  subscribe(filters: readonly string[], qos: 0 | 1): void {
    this.#client.subscribe([...filters], { qos }, (error, granted) => {
      const rejected = granted?.find(({ qos: code }) => code >= 128)?.topic;
      if (error !== null) this.#listener.error(messageOf(error));
      else if (rejected !== undefined)
        this.#listener.error(`the broker rejected the subscription to ${rejected}`);
    });
  }

  unsubscribe(filters: readonly string[]): void {
    if (this.#client.connected) this.#client.unsubscribe([...filters], () => undefined);
  }

  /** `politely`: lets the broker read what was published before. */
  async stop(politely = false): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    const client = this.#client;
    if (!politely || !this.#connected) {
      await client.endAsync(true);
      return;
    }
    // The library waits for the acknowledgement of each message, which a broker that hangs never sends, and which is lost
    // with the connection.
    await new Promise<void>((resolve) => {
      const deadline = this.#options.clock.after(politeMs, () => client.stream.destroy());
      const end = () => {
        deadline.cancel();
        resolve();
      };
      client.once("close", end);
      client.end(false, {}, end);
    });
  }

  #onConnect(): void {
    this.#connected = true;
    this.#pauseMs = firstPauseMs;
    this.#listener.connected();
  }

  #onError(error: Error & { readonly code?: unknown }): void {
    // Errors of the system, such as a closed port, have a text as their code.
    if (!this.#connected && typeof error.code !== "string")
      this.#wrongVersion = typeof error.code !== "number" || !otherRefusals.has(error.code);
    this.#listener.error(messageOf(error));
  }

  #onClose(): void {
    const wasConnected = this.#connected;
    this.#connected = false;
    this.#timer?.cancel();
    for (const pending of [...this.#pending])
      pending(new ConnectionLost("the connection to the broker was lost"));
    this.#listener.closed(wasConnected);
    if (this.#stopped) return;
    if (this.#wrongVersion) this.#version = this.#version === 5 ? 4 : 5;
    this.#wrongVersion = false;
    const pause = this.#pauseMs * (0.5 + this.#options.random());
    this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs);
    this.#timer = this.#options.clock.after(pause, () => {
      this.#client = this.#open();
    });
  }
}

class ConnectionLost extends Error {}

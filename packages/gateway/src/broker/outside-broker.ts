/**
 * An MQTT broker of somebody else's [MQT-9…12]: the gateway is one client of it among many. The broker's own rules
 * say who a device is, by letting it publish to `device-server/{clientId}` only; here a device is there when it has
 * said something, and gone when its will or its silence says so.
 */
import { encodeRequest, limits, readMqttClientId } from "@tendon/protocol";
import mqtt, { type MqttClient } from "mqtt";
import type { Clock, Timer } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { pushTopic } from "./client-ids.ts";
import type { DeviceListener, OpenDevice } from "./connections.ts";

export interface OutsideBrokerNeeds {
  readonly clock: Clock;
  readonly events: Events;
  readonly url: string;
  readonly random: () => number;
  /** Client ids of devices that were there in earlier runs. */
  readonly seen: Iterable<string>;
  /** Counts a device that may not come in; says how long the next one told of ought to have waited [PRV-8]. */
  readonly signInFailed: () => number;
  /** Told of a device that has not been there before. */
  readonly firstSeen: (clientId: string) => void;
  /** Who takes over the device with this client id; throws for one that is not to be served. */
  readonly admitDevice: (clientId: string) => OpenDevice;
}

const topicRoot = "device-server/";
const POLICY = 1008;
const shunMs = 10_000;
const firstPauseMs = 500;
const longestPauseMs = 30_000;
/** Known devices are asked for a sign of life in groups, so that a large fleet does not answer all at once. */
const askedAtOnce = 50;
const askPauseMs = 100;

export class OutsideBroker {
  readonly #needs: OutsideBrokerNeeds;
  readonly #client: MqttClient;
  /** Devices that are there, by client id. */
  readonly #devices = new Map<string, DeviceListener>();
  /** Devices that have been there, in this run or before: asked for when the connection stands. */
  readonly #seen: Set<string>;
  /** Devices that broke a rule, and until when they are not listened to. */
  readonly #shunned = new Map<string, number>();
  #pauseMs = firstPauseMs;
  #timer: Timer | undefined;
  #stopped = false;
  #refusing = false;
  #connected = false;

  constructor(needs: OutsideBrokerNeeds) {
    this.#needs = needs;
    this.#seen = new Set(needs.seen);
    this.#client = mqtt.connect(needs.url, {
      clean: true,
      // Our own pauses grow and differ, so that many gateways do not come back in step.
      reconnectPeriod: 0,
      connectTimeout: 10_000,
      keepalive: 30,
      queueQoSZero: false,
      protocolVersion: 4,
    });
    this.#client.on("connect", () => this.#up());
    this.#client.on("close", () => this.#down());
    this.#client.on("error", (error) => needs.events.outsideBroker("error", messageOf(error)));
    this.#client.on("message", (topic, payload, { retain }) => {
      // What the broker has kept was said some day by somebody who may have gone.
      if (!retain) this.#message(topic, payload);
    });
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** Asks a device for a sign of life; if it is there, its answer makes it known. */
  #ask(clientId: string): void {
    this.#push(clientId, JSON.stringify({ session_id: "", type: "mcp", payload: encodeRequest(1, "ping") }));
  }

  /** From now on nobody comes in. */
  rejectNew(): void {
    this.#refusing = true;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#forgetAll("the gateway is stopping");
    await this.#client.endAsync(true);
  }

  #up(): void {
    this.#connected = true;
    this.#pauseMs = firstPauseMs;
    this.#needs.events.outsideBroker("connected");
    this.#client.subscribe(`${topicRoot}+`, { qos: 0 }, (error) => {
      if (error !== null && error !== undefined) this.#needs.events.outsideBroker("error", messageOf(error));
    });
    this.#askAll([...this.#seen]);
  }

  #down(): void {
    if (this.#connected) this.#needs.events.outsideBroker("disconnected");
    this.#connected = false;
    this.#timer?.cancel();
    this.#forgetAll("the connection to the MQTT broker broke off");
    if (this.#stopped) return;
    const pause = this.#pauseMs * (0.5 + this.#needs.random());
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
    this.#timer = this.#needs.clock.after(pause, () => this.#client.reconnect());
  }

  #askAll(waiting: string[]): void {
    for (const clientId of waiting.splice(0, askedAtOnce)) this.#ask(clientId);
    if (waiting.length === 0 || this.#stopped) return;
    this.#timer = this.#needs.clock.after(askPauseMs, () => this.#askAll(waiting));
  }

  #message(topic: string, payload: Buffer): void {
    const clientId = topic.slice(topicRoot.length);
    // An empty message is what a device's will says here: it has gone.
    if (payload.byteLength === 0) {
      this.#forget(clientId, "the device's will says that it has gone");
      return;
    }
    const listener = this.#devices.get(clientId) ?? this.#admit(clientId);
    if (listener === undefined) return;
    if (payload.byteLength <= limits.deviceFrameBytes.max) listener.message(payload);
    else
      this.#needs.events.frameNotUnderstood(deviceOf(clientId) ?? "", "invalid", "the message is too large");
  }

  #isShunned(clientId: string): boolean {
    const until = this.#shunned.get(clientId);
    if (until === undefined) return false;
    if (until > this.#needs.clock.monotonic()) return true;
    this.#shunned.delete(clientId);
    return false;
  }

  #admit(clientId: string): DeviceListener | undefined {
    if (this.#refusing) return undefined;
    try {
      const open = this.#needs.admitDevice(clientId);
      if (this.#isShunned(clientId)) return undefined;
      const listener = open({
        push: (text) => this.#push(clientId, text),
        close: (code) => {
          this.#devices.delete(clientId);
          // Its connection is not ours to end; what it says is not heard for a while instead.
          if (code === POLICY) this.#shunned.set(clientId, this.#needs.clock.monotonic() + shunMs);
        },
      });
      this.#devices.set(clientId, listener);
      if (!this.#seen.has(clientId)) this.#needs.firstSeen(clientId);
      this.#seen.add(clientId);
      return listener;
    } catch (error) {
      const { events, signInFailed } = this.#needs;
      const why = { code: "unauthenticated", reason: messageOf(error), device: deviceOf(clientId) };
      if (signInFailed() > 0) events.connectionThrottled();
      else events.connectionRefused(why);
      return undefined;
    }
  }

  #push(clientId: string, text: string): boolean {
    if (!this.#client.connected) return false;
    this.#client.publish(pushTopic(clientId), text, { qos: 0 });
    return true;
  }

  #forget(clientId: string, reason: string): void {
    const listener = this.#devices.get(clientId);
    this.#devices.delete(clientId);
    listener?.closed(reason);
  }

  #forgetAll(reason: string): void {
    for (const clientId of [...this.#devices.keys()]) this.#forget(clientId, reason);
  }
}

/** The rest of a client id is secret. */
function deviceOf(clientId: string): string | undefined {
  return readMqttClientId(clientId)?.deviceId;
}

/**
 * The client of an outside MQTT broker [MQT-9…12]. The broker's access rules authenticate devices: a device may publish
 * only to `device-server/{clientId}`. A device is online after its first message, and offline after its will or a
 * silence.
 */
import { encodeRequest, limits, readMqttClientId } from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { boardRates, Intake } from "../intake.ts";
import { BrokerClient } from "./broker-client.ts";
import { pushTopic } from "./client-ids.ts";
import type { DeviceListener, OpenDevice } from "./connections.ts";

export interface OutsideBrokerDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly url: string;
  readonly random: () => number;
  /** Client ids of devices that were online in earlier runs. */
  readonly seen: Iterable<string>;
  /** Counts a rejected device. Returns how long to wait before the next one is logged [PRV-8]. */
  readonly signInFailed: () => number;
  /** Called for a device that was never online before. */
  readonly firstSeen: (clientId: string) => void;
  /** Returns the handler of the device with this client id; throws if the device is not admitted. */
  readonly admitDevice: (clientId: string) => OpenDevice;
}

interface OnlineDevice {
  readonly listener: DeviceListener;
  readonly intake: Intake;
}

const topicRoot = "device-server/";
const POLICY = 1008;
const ignoreMs = 10_000;
/** Known devices are probed in groups, so that a large fleet does not answer all at once. */
const probeBatch = 50;
const probePauseMs = 100;

export class OutsideBroker {
  readonly #dependencies: OutsideBrokerDependencies;
  readonly #client: BrokerClient;
  /** Online devices by client id. */
  readonly #devices = new Map<string, OnlineDevice>();
  /** Devices that were ever online. They are probed when the connection to the broker is ready. */
  readonly #seen: Set<string>;
  /** Devices that violated a limit, with the time until which their messages are ignored. */
  readonly #ignored = new Map<string, number>();
  #timer: Timer | undefined;
  #stopped = false;
  #rejecting = false;

  constructor(dependencies: OutsideBrokerDependencies) {
    this.#dependencies = dependencies;
    this.#seen = new Set(dependencies.seen);
    const { events } = dependencies;
    this.#client = new BrokerClient(dependencies, {
      connected: () => this.#onConnect(),
      closed: (wasConnected) => this.#onClose(wasConnected),
      error: (message) => events.outsideBroker("error", message),
      message: (topic, payload, { retain }) => {
        // A retained message may be old, and its sender may be offline.
        if (!retain) this.#message(topic, payload);
      },
    });
  }

  get connected(): boolean {
    return this.#client.connected;
  }

  /** Pings a device. An answer makes the device online. */
  #probe(clientId: string): void {
    this.#push(clientId, JSON.stringify({ session_id: "", type: "mcp", payload: encodeRequest(1, "ping") }));
  }

  /** Rejects new devices from now on. */
  rejectNew(): void {
    this.#rejecting = true;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#closeAll("the gateway is stopping");
    await this.#client.stop();
  }

  #onConnect(): void {
    this.#dependencies.events.outsideBroker("connected", `MQTT ${this.#client.version}`);
    this.#client.subscribe([`${topicRoot}+`], 0);
    this.#probeAll([...this.#seen]);
  }

  #onClose(wasConnected: boolean): void {
    if (wasConnected) this.#dependencies.events.outsideBroker("disconnected");
    this.#timer?.cancel();
    this.#closeAll("the connection to the MQTT broker was lost");
  }

  #probeAll(waiting: string[]): void {
    for (const clientId of waiting.splice(0, probeBatch)) this.#probe(clientId);
    if (waiting.length === 0 || this.#stopped) return;
    this.#timer = this.#dependencies.clock.after(probePauseMs, () => this.#probeAll(waiting));
  }

  #message(topic: string, payload: Buffer): void {
    const clientId = topic.slice(topicRoot.length);
    // The will of a device is an empty message.
    if (payload.byteLength === 0) {
      this.#closeDevice(clientId, "the MQTT broker published the device's will");
      return;
    }
    const online = this.#devices.get(clientId) ?? this.#admit(clientId);
    if (online === undefined || !online.intake.count(1, payload.byteLength)) return;
    if (payload.byteLength <= limits.deviceFrameBytes.max) online.listener.message(payload);
    else
      this.#dependencies.events.frameNotUnderstood(
        deviceOf(clientId) ?? "",
        "invalid",
        "the message is too large",
      );
  }

  #isIgnored(clientId: string): boolean {
    const until = this.#ignored.get(clientId);
    if (until === undefined) return false;
    if (until > this.#dependencies.clock.monotonic()) return true;
    this.#ignored.delete(clientId);
    return false;
  }

  #admit(clientId: string): OnlineDevice | undefined {
    if (this.#rejecting) return undefined;
    try {
      const open = this.#dependencies.admitDevice(clientId);
      if (this.#isIgnored(clientId)) return undefined;
      // The gateway cannot pause or close the device's connection, so it ignores the device's messages for a while.
      const intake = new Intake(this.#dependencies.clock, boardRates, {
        cut: (exceeded) => this.#flooded(clientId, exceeded),
      });
      const listener = open({
        push: (text) => {
          intake.expectAnswer(limits.deviceFrameBytes.max);
          return this.#push(clientId, text);
        },
        close: (code) => {
          this.#devices.delete(clientId);
          if (code === POLICY) this.#ignore(clientId);
        },
      });
      const online = { listener, intake };
      this.#devices.set(clientId, online);
      if (!this.#seen.has(clientId)) this.#dependencies.firstSeen(clientId);
      this.#seen.add(clientId);
      return online;
    } catch (error) {
      const { events, signInFailed } = this.#dependencies;
      const why = { code: "unauthenticated", reason: messageOf(error), device: deviceOf(clientId) };
      if (signInFailed() > 0) events.connectionThrottled();
      else events.connectionRefused(why);
      return undefined;
    }
  }

  #flooded(clientId: string, exceeded: "frames" | "bytes"): void {
    const reason = `the device sends too many ${exceeded}`;
    const device = deviceOf(clientId);
    this.#dependencies.events.connectionRefused({ code: "rate_limited", reason, device });
    this.#ignore(clientId);
    this.#closeDevice(clientId, reason);
  }

  #ignore(clientId: string): void {
    this.#ignored.set(clientId, this.#dependencies.clock.monotonic() + ignoreMs);
  }

  #push(clientId: string, text: string): boolean {
    return this.#client.publish(pushTopic(clientId), text, { qos: 0 });
  }

  #closeDevice(clientId: string, reason: string): void {
    const online = this.#devices.get(clientId);
    this.#devices.delete(clientId);
    online?.listener.closed(reason);
  }

  #closeAll(reason: string): void {
    for (const clientId of [...this.#devices.keys()]) this.#closeDevice(clientId, reason);
  }
}

/** Only the device id, because the rest of a client id is secret. */
function deviceOf(clientId: string): string | undefined {
  return readMqttClientId(clientId)?.deviceId;
}

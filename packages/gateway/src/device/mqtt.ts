/**
 * Devices over MQTT [MQT-1…8]. They connect at boot and publish nothing, so the session starts with the connection:
 * the gateway sends `initialize` and lists the tools at once. A hello may follow later and opens an audio session.
 */

import type { BoardSession } from "./board-session.ts";
import type { DeviceIdentity, DeviceLink } from "./link.ts";

/** A device's connection through the embedded broker, or a topic of an external one. */
export interface MqttConnection {
  push(text: string): boolean;
  close(code: number): void;
}

/** What the broker reports about the device. */
export interface MqttListener {
  message(payload: Buffer): void;
  alive(): void;
  closed(reason: string): void;
}

export interface MqttDependencies {
  readonly open: (identity: DeviceIdentity, link: DeviceLink) => BoardSession;
}

export function openMqttDevice(
  identity: DeviceIdentity,
  connection: MqttConnection,
  dependencies: MqttDependencies,
): MqttListener {
  const link: DeviceLink = {
    transport: "mqtt",
    send: (text) => connection.push(text),
    // In MQTT, only the device can ping.
    ping: () => undefined,
    close: (code) => connection.close(code),
  };
  const session = dependencies.open(identity, link);
  session.beginWithoutHello();
  return {
    message: (payload) => session.receiveText(payload.toString()),
    alive: () => session.alive(),
    closed: (reason) => session.linkClosed(reason),
  };
}

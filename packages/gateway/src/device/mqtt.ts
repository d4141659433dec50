/**
 * Devices over MQTT [MQT-1…8]. They connect at boot and publish nothing, so the session begins with the connection:
 * `initialize` and the tool list are pushed to them at once. A hello comes later, if ever, and opens an audio session.
 */

import type { BoardSession } from "./board-session.ts";
import type { DeviceIdentity, DeviceLink } from "./link.ts";

/** A device's connection as its carrier offers it: the embedded broker, or a topic of an outside one. */
export interface MqttConnection {
  push(text: string): boolean;
  close(code: number): void;
}

/** What the carrier tells of the device. */
export interface MqttListener {
  message(payload: Buffer): void;
  alive(): void;
  closed(reason: string): void;
}

export interface MqttNeeds {
  readonly open: (identity: DeviceIdentity, link: DeviceLink) => BoardSession;
}

export function openMqttDevice(
  identity: DeviceIdentity,
  connection: MqttConnection,
  needs: MqttNeeds,
): MqttListener {
  const link: DeviceLink = {
    transport: "mqtt",
    send: (text) => connection.push(text),
    // The device pings the broker by itself; the broker cannot ping the device.
    ping: () => undefined,
    close: (code) => connection.close(code),
  };
  const session = needs.open(identity, link);
  session.beginWithoutHello();
  return {
    message: (payload) => session.receiveText(payload.toString()),
    alive: () => session.alive(),
    closed: (reason) => session.linkClosed(reason),
  };
}

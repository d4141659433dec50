/** The connections of clients, for sending and closing. */
import type { Duplex } from "node:stream";
import { limits } from "@tendon/protocol";
import type { Client } from "aedes";
import { Batch } from "../batch.ts";
import { pushTopic } from "./client-ids.ts";
import type { ConnectionGate } from "./connection-gate.ts";
import type { AppConnection, DeviceConnection } from "./connections.ts";
import { pushPackets } from "./push-packets.ts";

export function deviceConnection(client: Client, gate: ConnectionGate | undefined): DeviceConnection {
  const packetOf = pushPackets(pushTopic(client.id));
  return {
    push(text) {
      const { conn } = client;
      if (client.closed || conn.writableLength > limits.deviceSendBufferBytes.max) return false;
      gate?.expectAnswer();
      // Written directly to the connection, because the broker has nothing to decide.
      pushes.add({ conn, packet: packetOf(text) });
      return true;
    },
    close() {
      pushes.flush();
      client.close();
    },
  };
}

interface Push {
  readonly conn: Duplex;
  readonly packet: Buffer;
}

/** Shared by all devices, because most of the cost of a push is the system call. */
const pushes = new Batch<Push>(({ conn, packet }) => {
  if (conn.writable) conn.write(packet);
});

export function appConnection(client: Client, hasSubscribed: (topic: string) => boolean): AppConnection {
  return {
    deliver(topic, payload) {
      if (hasSubscribed(topic)) sendToApp(client, topic, payload);
    },
    close: () => client.close(),
  };
}

/** [APP-7] Closes an app that is a megabyte behind. The app then knows that it missed messages, and reconnects. */
export function sendToApp(client: Client, topic: string, payload: string): void {
  if (client.closed) return;
  if (client.conn.writableLength > limits.deviceSendBufferBytes.max) {
    client.close();
    return;
  }
  client.publish({ cmd: "publish", topic, payload, qos: 0, retain: false, dup: false }, () => undefined);
}

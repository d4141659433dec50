/** What the broker hands out of a client that is connected: to say something to it, or to end it. */
import type { Duplex } from "node:stream";
import { limits } from "@tendon/protocol";
import type { Client } from "aedes";
import { Batch } from "../batch.ts";
import { pushTopic } from "./client-ids.ts";
import type { AppConnection, DeviceConnection } from "./connections.ts";
import { pushPackets } from "./push-packets.ts";

export function deviceConnection(client: Client): DeviceConnection {
  const packetOf = pushPackets(pushTopic(client.id));
  return {
    push(text) {
      const { conn } = client;
      if (client.closed || conn.writableLength > limits.deviceSendBufferBytes.max) return false;
      // Straight to the connection, in one piece: the broker has nothing to decide about it.
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

/** One for all devices: most of a push's cost is in the system call. */
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

/** [APP-7] An app that is a megabyte behind is cut off: it knows then that it has missed something, and comes again. */
export function sendToApp(client: Client, topic: string, payload: string): void {
  if (client.closed) return;
  if (client.conn.writableLength > limits.deviceSendBufferBytes.max) {
    client.close();
    return;
  }
  client.publish({ cmd: "publish", topic, payload, qos: 0, retain: false, dup: false }, () => undefined);
}

/** What the broker hands out of a client that is connected: to say something to it, or to end it. */
import { limits } from "@tendon/protocol";
import type { Client } from "aedes";
import mqttPacket from "mqtt-packet";
import type { AppConnection, DeviceConnection } from "./connections.ts";
import { filterMatches } from "./topic-filter.ts";
import { pushTopic } from "./topics.ts";

export function deviceConnection(client: Client): DeviceConnection {
  const topic = pushTopic(client.id);
  return {
    push(text) {
      const { conn } = client;
      if (client.closed || conn.writableLength > limits.deviceSendBufferBytes.max) return false;
      // Straight to the connection, in one piece: the broker has nothing to decide about it.
      conn.write(
        mqttPacket.generate({ cmd: "publish", topic, payload: text, qos: 0, retain: false, dup: false }),
      );
      return true;
    },
    close: () => client.close(),
  };
}

export function appConnection(client: Client, filters: ReadonlySet<string>): AppConnection {
  return {
    deliver(topic, payload) {
      if (client.closed || client.conn.writableLength > limits.deviceSendBufferBytes.max) return;
      for (const filter of filters) {
        if (!filterMatches(filter, topic)) continue;
        client.publish(
          { cmd: "publish", topic, payload, qos: 0, retain: false, dup: false },
          () => undefined,
        );
        return;
      }
    },
    close: () => client.close(),
  };
}

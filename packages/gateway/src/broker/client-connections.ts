/** The connections of clients, for sending and closing. */
import type { Duplex } from "node:stream";
import { limits } from "@tendon/protocol";
import type { Client } from "aedes";
import type { IPublishPacket } from "mqtt-packet";
import { Batch } from "../batch.ts";
import { pushTopic } from "./client-ids.ts";
import type { ConnectionGate } from "./connection-gate.ts";
import type { AppConnection, DeviceConnection } from "./connections.ts";
import type { AppPeer } from "./peers.ts";
import { pushPackets } from "./push-packets.ts";

/** The reason code of MQTT 5 for an app whose token was revoked or has expired. */
const NOT_AUTHORIZED = 0x87;

export function deviceConnection(client: Client, gate: ConnectionGate | undefined): DeviceConnection {
  const packetOf = pushPackets(pushTopic(client.id), client.version === 5 ? 5 : 4);
  const { maximumPacketSize = Number.POSITIVE_INFINITY } = client;
  return {
    push(text) {
      const { conn } = client;
      if (client.closed || conn.writableLength > limits.deviceSendBufferBytes.max) return false;
      const packet = packetOf(text);
      if (packet.length > maximumPacketSize) return false;
      gate?.expectAnswer();
      // Written directly to the connection, because the broker has nothing to decide.
      pushes.add({ conn, packet });
      return true;
    },
    close() {
      pushes.flush();
      client.close();
    },
  };
}

/** Holds back the CONNACK of a device until its first message, because most of the cost of both is the system call. */
export function holdConnack({ conn }: Client): void {
  conn.cork();
}

/** Called when the device's first message was pushed. */
export function releaseConnack({ conn }: Client): void {
  setImmediate(() => conn.uncork());
}

interface Push {
  readonly conn: Duplex;
  readonly packet: Buffer;
}

/** Shared by all devices, because most of the cost of a push is the system call. */
const pushes = new Batch<Push>(({ conn, packet }) => {
  if (conn.writable) conn.write(packet);
});

export function appConnection(peer: AppPeer, hasSubscribed: (topic: string) => boolean): AppConnection {
  return {
    deliver(topic, payload, correlationData) {
      if (hasSubscribed(topic)) sendToApp(peer, topic, payload, correlationData);
    },
    close: () => closeApp(peer.client, NOT_AUTHORIZED),
  };
}

/** [APP-7] Closes an app that is a megabyte behind. The app then knows that it missed messages, and reconnects. */
export function sendToApp(
  { client, identifiers }: AppPeer,
  topic: string,
  payload: string,
  correlationData?: Buffer,
): void {
  if (client.closed) return;
  if (client.conn.writableLength > limits.deviceSendBufferBytes.max) {
    client.close();
    return;
  }
  const { maximumPacketSize = Number.POSITIVE_INFINITY } = client;
  if (payload.length > maximumPacketSize) return;
  const packet = { cmd: "publish", topic, payload, qos: 0, retain: false, dup: false } as const;
  const properties = propertiesOf(identifiers.matching(topic), correlationData);
  client.publish(properties === undefined ? packet : { ...packet, properties }, () => undefined);
}

function propertiesOf(
  identifiers: ReadonlySet<number>,
  correlationData: Buffer | undefined,
): IPublishPacket["properties"] {
  if (identifiers.size === 0 && correlationData === undefined) return undefined;
  return {
    ...(identifiers.size === 0 ? {} : { subscriptionIdentifier: [...identifiers] }),
    ...(correlationData === undefined ? {} : { correlationData }),
  };
}

function closeApp(client: Client, reasonCode: number): void {
  // aedes waits for the client to read the reason, which one that is behind may never do.
  if (client.conn.writableNeedDrain) client.close();
  else client.disconnect({ reasonCode });
}

/**
 * Where devices over MQTT send their audio while there is no voice server: a socket that counts and drops. The hello
 * needs a complete address, or the firmware waits in vain and complains to its user [MQT-7].
 */
import { randomBytes } from "node:crypto";
import dgram from "node:dgram";
import type { Events } from "../events/events.ts";

export interface UdpAddress {
  readonly server: string;
  readonly port: number;
  readonly key: string;
  readonly nonce: string;
}

class UdpSink {
  readonly #socket: dgram.Socket;
  #port = 0;

  constructor(events: Events) {
    this.#socket = dgram.createSocket("udp4");
    this.#socket.on("message", (packet) => events.audioDropped(packet.byteLength));
    this.#socket.on("error", () => undefined);
  }

  async listen(host: string): Promise<void> {
    // Audio is IPv4 only in the firmware; a gateway on an IPv6 address hears it on every IPv4 one.
    const address = host.includes(":") || host === "localhost" ? "0.0.0.0" : host;
    await new Promise<void>((resolve, reject) => {
      this.#socket.once("error", reject);
      this.#socket.bind(0, address, () => resolve());
    });
    this.#port = this.#socket.address().port;
  }

  /** A fresh key and nonce for one audio session. The nonce begins with 01, the type of an audio packet. */
  addressFor(server: string): UdpAddress {
    return {
      server,
      port: this.#port,
      key: randomBytes(16).toString("hex"),
      nonce: `01${randomBytes(15).toString("hex")}`,
    };
  }

  stop(): void {
    this.#socket.close();
  }
}

export async function openUdpSink(events: Events, host: string): Promise<UdpSink> {
  const sink = new UdpSink(events);
  try {
    await sink.listen(host);
  } catch (error) {
    sink.stop();
    throw error;
  }
  return sink;
}

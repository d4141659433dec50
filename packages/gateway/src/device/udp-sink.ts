/**
 * Receives the audio of devices over MQTT without a voice server, counts it and drops it. The hello needs a complete
 * address; without one, the firmware waits for its timeout and reports an error to its user [MQT-7].
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
    // The firmware sends audio over IPv4 only. A gateway on an IPv6 address listens on all IPv4 addresses.
    const address = host.includes(":") || host === "localhost" ? "0.0.0.0" : host;
    await new Promise<void>((resolve, reject) => {
      this.#socket.once("error", reject);
      this.#socket.bind(0, address, () => resolve());
    });
    this.#port = this.#socket.address().port;
  }

  /** A new key and nonce for one audio session. The nonce starts with 01, the type of an audio packet. */
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

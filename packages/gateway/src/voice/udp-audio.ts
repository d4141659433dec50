/**
 * The socket that boards over MQTT send their audio to, one for all of them [UDP-1]. A packet finds its conversation by
 * the number in its header; one with a number that nobody was given is counted and dropped, without a word.
 */
import { randomBytes } from "node:crypto";
import dgram from "node:dgram";
import dns from "node:dns";
import net from "node:net";
import { type AudioFrame, readUdpHeader, udpHeaderBytes } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { UdpAddress } from "../device/device.ts";
import { messageOf, StartError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { UdpPath, type UdpPeer } from "./udp-path.ts";

export interface PathRequest {
  readonly server: string;
  readonly frameMs: number | undefined;
  readonly receive: (audio: AudioFrame) => void;
  readonly onLost: (packets: number) => void;
}

export interface OpenPath {
  /** What the board is told. */
  readonly address: UdpAddress;
  readonly path: UdpPath;
  close(): void;
}

type Told = (error: NodeJS.ErrnoException | null, address: string, family: number) => void;

/** Packets of all boards wait here while the process is busy for a moment; the system may grant less. */
const receiveBytes = 4 * 1024 * 1024;

export class UdpAudio {
  readonly #socket = dgram.createSocket({ type: "udp4", recvBufferSize: receiveBytes, lookup: lookUp });
  readonly #paths = new Map<number, UdpPath>();
  readonly #clock: Clock;
  readonly #events: Events;
  #port = 0;

  constructor(clock: Clock, events: Events) {
    this.#clock = clock;
    this.#events = events;
    this.#socket.on("message", (datagram, from) => this.#received(datagram, from));
    // An address that does not answer is told by the next send, and is nothing to act on.
    this.#socket.on("error", () => undefined);
  }

  async listen(host: string, port: number): Promise<void> {
    // Audio is IPv4 only in the firmware; a gateway on an IPv6 address hears it on every IPv4 one.
    const address = host.includes(":") || host === "localhost" ? "0.0.0.0" : host;
    await new Promise<void>((resolve, reject) => {
      this.#socket.once("error", (error) =>
        reject(
          new StartError(
            `UDP port ${port} for audio cannot be used (${messageOf(error)}). Choose another with voice.udpPort, or 0 for any.`,
          ),
        ),
      );
      this.#socket.bind(port, address, () => resolve());
    });
    this.#port = this.#socket.address().port;
  }

  open({ server, frameMs, receive, onLost }: PathRequest): OpenPath {
    const connection = this.#freeNumber();
    const key = randomBytes(16);
    const path = new UdpPath({
      connection,
      key,
      frameMs,
      now: () => this.#clock.monotonic(),
      send: (datagram, peer, sent) => this.#socket.send(datagram, peer.port, peer.address, sent),
      receive,
      onLost,
    });
    this.#paths.set(connection, path);
    return {
      address: this.#addressOf(server, connection, key),
      path,
      close: () => this.#paths.delete(connection),
    };
  }

  /** For a board that has no voice server: a complete address that leads nowhere [MQT-7]. */
  addressFor(server: string): UdpAddress {
    return this.#addressOf(server, this.#freeNumber(), randomBytes(16));
  }

  stop(): void {
    this.#paths.clear();
    this.#socket.close();
  }

  #received(datagram: Buffer, from: UdpPeer): void {
    const header = readUdpHeader(datagram);
    const path = header === undefined ? undefined : this.#paths.get(header.connection);
    // Ours go the other way: one that comes back was sent by somebody who only heard it.
    if (header === undefined || path === undefined || header.flags !== 0)
      this.#events.audioDropped(datagram.byteLength);
    else path.received(header, datagram, from);
  }

  #freeNumber(): number {
    for (;;) {
      const number = randomBytes(4).readUInt32BE();
      if (!this.#paths.has(number)) return number;
    }
  }

  /** [MQT-7] The nonce begins with 01, the type of an audio packet: the firmware copies it as it is. */
  #addressOf(server: string, connection: number, key: Buffer): UdpAddress {
    const nonce = Buffer.alloc(udpHeaderBytes);
    nonce[0] = 1;
    nonce.writeUInt32BE(connection, 4);
    return { server, port: this.#port, key: key.toString("hex"), nonce: nonce.toString("hex") };
  }
}

/** Packets go where packets came from: that is never a name, and asking all the same would cost a turn for each. */
function lookUp(host: string, options: dns.LookupOneOptions, told: Told): void {
  if (net.isIPv4(host)) told(null, host, 4);
  else dns.lookup(host, options, told);
}

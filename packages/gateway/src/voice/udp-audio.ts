/**
 * The UDP socket for the audio of all boards over MQTT [UDP-1]. The connection number in a packet's header selects the
 * conversation. A packet with an unknown number is counted and dropped.
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
import { type UdpPeer, UdpSession } from "./udp-session.ts";

export interface UdpSessionRequest {
  readonly server: string;
  readonly frameMs: number | undefined;
  readonly receive: (audio: AudioFrame) => void;
  readonly onLost: (packets: number) => void;
}

export interface OpenUdpSession {
  /** The address in the reply to the board's hello. */
  readonly address: UdpAddress;
  readonly session: UdpSession;
  close(): void;
}

type LookupCallback = (error: NodeJS.ErrnoException | null, address: string, family: number) => void;

/** Holds the packets of all boards while the process is busy. The system may grant less. */
const receiveBytes = 4 * 1024 * 1024;

export class UdpAudio {
  readonly #socket = dgram.createSocket({ type: "udp4", recvBufferSize: receiveBytes, lookup });
  readonly #sessions = new Map<number, UdpSession>();
  readonly #clock: Clock;
  readonly #events: Events;
  #port = 0;

  constructor(clock: Clock, events: Events) {
    this.#clock = clock;
    this.#events = events;
    this.#socket.on("message", (datagram, from) => this.#received(datagram, from));
    // A send to an unreachable address raises an error here, which needs no action.
    this.#socket.on("error", () => undefined);
  }

  async listen(host: string, port: number): Promise<void> {
    // The firmware sends audio over IPv4 only. A gateway on an IPv6 address listens on all IPv4 addresses.
    const address = host.includes(":") || host === "localhost" ? "0.0.0.0" : host;
    await new Promise<void>((resolve, reject) => {
      this.#socket.once("error", (error) =>
        reject(
          new StartError(
            `UDP port ${port} for audio cannot be used (${messageOf(error)}). Set voice.udpPort to another port, or to 0 for a free one.`,
          ),
        ),
      );
      this.#socket.bind(port, address, () => resolve());
    });
    this.#port = this.#socket.address().port;
  }

  open({ server, frameMs, receive, onLost }: UdpSessionRequest): OpenUdpSession {
    const connection = this.#unusedNumber();
    const key = randomBytes(16);
    const session = new UdpSession({
      connection,
      key,
      frameMs,
      now: () => this.#clock.monotonic(),
      send: (datagram, peer, sent) => this.#socket.send(datagram, peer.port, peer.address, sent),
      receive,
      onLost,
    });
    this.#sessions.set(connection, session);
    return {
      address: this.#addressOf(server, connection, key),
      session,
      close: () => this.#sessions.delete(connection),
    };
  }

  /** For a board without a voice server: a complete address whose packets are dropped [MQT-7]. */
  addressFor(server: string): UdpAddress {
    return this.#addressOf(server, this.#unusedNumber(), randomBytes(16));
  }

  stop(): void {
    this.#sessions.clear();
    this.#socket.close();
  }

  #received(datagram: Buffer, from: UdpPeer): void {
    const header = readUdpHeader(datagram);
    const session = header === undefined ? undefined : this.#sessions.get(header.connection);
    // Only downlink packets have flags. One that arrives here was captured and sent back.
    if (header === undefined || session === undefined || header.flags !== 0)
      this.#events.audioDropped(datagram.byteLength);
    else session.received(header, datagram, from);
  }

  #unusedNumber(): number {
    for (;;) {
      const number = randomBytes(4).readUInt32BE();
      if (!this.#sessions.has(number)) return number;
    }
  }

  /** [MQT-7] The nonce starts with 01, the type of an audio packet, because the firmware copies it unchanged. */
  #addressOf(server: string, connection: number, key: Buffer): UdpAddress {
    const nonce = Buffer.alloc(udpHeaderBytes);
    nonce[0] = 1;
    nonce.writeUInt32BE(connection, 4);
    return { server, port: this.#port, key: key.toString("hex"), nonce: nonce.toString("hex") };
  }
}

/** Targets are IP addresses that packets came from. Skipping the resolver saves an event-loop turn per packet. */
function lookup(host: string, options: dns.LookupOneOptions, callback: LookupCallback): void {
  if (net.isIPv4(host)) callback(null, host, 4);
  else dns.lookup(host, options, callback);
}

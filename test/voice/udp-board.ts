/** Audio over UDP, written from the wire's rules: a sender that can also forge every field. */
import { createCipheriv, randomBytes } from "node:crypto";
import dgram from "node:dgram";
import { onTestFinished } from "vitest";
import { Inbox } from "../inbox.ts";

export interface UdpOffer {
  readonly server: string;
  readonly port: number;
  readonly key: string;
  readonly nonce: string;
}

export interface Packet {
  readonly sequence: number;
  readonly timestamp: number;
  readonly flags: number;
  readonly opus: Buffer;
  readonly header: Buffer;
}

export class UdpSender {
  readonly received = new Inbox<Packet>("audio packet");
  readonly #offer: UdpOffer;
  readonly #socket: dgram.Socket;

  private constructor(offer: UdpOffer, socket: dgram.Socket) {
    this.#offer = offer;
    this.#socket = socket;
    socket.on("message", (datagram) => {
      const header = datagram.subarray(0, 16);
      this.received.put({
        header,
        flags: header.readUInt8(1),
        timestamp: header.readUInt32BE(8),
        sequence: header.readUInt32BE(12),
        opus: crypt(offer.key, header, datagram.subarray(16)),
      });
    });
  }

  static async open(offer: UdpOffer): Promise<UdpSender> {
    const socket = dgram.createSocket("udp4");
    await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      socket.close();
    });
    return new UdpSender(offer, socket);
  }

  /** With the board's values, unless `key` or `connection` are given. */
  async send(
    opus: Uint8Array,
    sequence: number,
    { key = this.#offer.key, connection }: { key?: string; connection?: number } = {},
  ): Promise<Buffer> {
    const header = Buffer.from(this.#offer.nonce, "hex");
    header.writeUInt16BE(opus.byteLength, 2);
    if (connection !== undefined) header.writeUInt32BE(connection, 4);
    header.writeUInt32BE(sequence, 12);
    const datagram = Buffer.concat([header, crypt(key, header, opus)]);
    await this.sendRaw(datagram);
    return datagram;
  }

  /** Resolves after a turn of the event loop, so that a receiver in this process can keep up. */
  async sendRaw(datagram: Buffer): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#socket.send(datagram, this.#offer.port, this.#offer.server, (error) =>
        error === null ? setImmediate(resolve) : reject(error),
      );
    });
  }
}

export function randomKey(): string {
  return randomBytes(16).toString("hex");
}

export function connectionOf(offer: UdpOffer): number {
  return Buffer.from(offer.nonce, "hex").readUInt32BE(4);
}

function crypt(key: string, header: Buffer, bytes: Uint8Array): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.from(key, "hex"), header).update(bytes);
}

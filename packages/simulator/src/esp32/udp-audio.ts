import { createCipheriv } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";

const headerLength = 16;
/** The device's receive buffer. It truncates longer packets, which then have the wrong length. */
const receiveBuffer = 1500;
/** The maximum size of a UDP datagram. */
const datagramLimit = 65_507;
const audioType = 0x01;

export type Unsealed =
  | { readonly ok: true; readonly packet: Buffer }
  | { readonly ok: false; readonly why: string };

/**
 * One key's packets in both directions: a header of 16 bytes, which is also the first counter block of
 * AES-128-CTR, and the encrypted Opus packet. Two packets never share a header, because the sequence differs.
 */
export class AudioCipher {
  readonly #key: Buffer;
  readonly #nonce: Buffer;
  #sent = 0;
  #lastSequence = 0;

  constructor(key: Buffer, nonce: Buffer) {
    this.#key = key;
    this.#nonce = nonce;
  }

  /** The type byte comes from the nonce, because the firmware never writes it. Undefined if the packet is too large. */
  seal(packet: Uint8Array, timestamp: number): Buffer | undefined {
    if (headerLength + packet.length > datagramLimit) return undefined;
    const header = Buffer.from(this.#nonce);
    this.#sent = (this.#sent + 1) >>> 0;
    header.writeUInt16BE(packet.length, 2);
    header.writeUInt32BE(timestamp >>> 0, 8);
    header.writeUInt32BE(this.#sent, 12);
    return Buffer.concat([header, this.#crypt(header, packet)]);
  }

  unseal(datagram: Buffer): Unsealed {
    if (datagram.length < headerLength)
      return { ok: false, why: "an audio packet with an incomplete header" };
    if (datagram[0] !== audioType) return { ok: false, why: "an audio packet of an unknown type" };
    const length = datagram.readUInt16BE(2);
    if (datagram.length > receiveBuffer || length !== datagram.length - headerLength) {
      return { ok: false, why: "an audio packet with a wrong length" };
    }
    const sequence = datagram.readUInt32BE(12);
    if (sequence <= this.#lastSequence) return { ok: false, why: "an audio packet that is late or repeated" };
    this.#lastSequence = sequence;
    const header = datagram.subarray(0, headerLength);
    return { ok: true, packet: this.#crypt(header, datagram.subarray(headerLength)) };
  }

  /** Counter mode is its own inverse. */
  #crypt(header: Buffer, bytes: Uint8Array): Buffer {
    return createCipheriv("aes-128-ctr", this.#key, header).update(bytes);
  }
}

/** A datagram socket for one server. Packets that cannot be sent are silently lost, as on the device. */
export class UdpPath {
  readonly #socket: Socket;
  #at: "opening" | "open" | "closed" = "opening";

  constructor(receive: (datagram: Buffer) => void) {
    this.#socket = createSocket("udp4", (datagram) => {
      if (this.#at === "open") receive(datagram);
    });
    // An unreachable server is reported by the next send; the firmware ignores it.
    this.#socket.on("error", () => undefined);
  }

  /** Resolves when packets can be sent, or when that has failed. */
  async connect(server: string, port: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#socket.once("close", () => resolve());
      this.#socket.connect(port, server, (error?: Error) => {
        if (error === undefined && this.#at === "opening") this.#at = "open";
        resolve();
      });
    });
  }

  send(datagram: Buffer): boolean {
    if (this.#at !== "open") return false;
    this.#socket.send(datagram);
    return true;
  }

  close(): void {
    if (this.#at === "closed") return;
    this.#at = "closed";
    this.#socket.close();
  }
}

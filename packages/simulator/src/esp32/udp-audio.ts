import { createCipheriv } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";

const headerLength = 16;
/** The device's receive buffer; what does not fit is cut off and then has the wrong length. */
const receiveBuffer = 1500;
/** The most a UDP datagram can carry. */
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
  #heard = 0;

  constructor(key: Buffer, nonce: Buffer) {
    this.#key = key;
    this.#nonce = nonce;
  }

  /** The type byte is the nonce's: the firmware never writes it. Undefined when no datagram is that large. */
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
    if (datagram.length < headerLength) return { ok: false, why: "an audio packet without a whole header" };
    if (datagram[0] !== audioType) return { ok: false, why: "an audio packet of an unknown type" };
    const length = datagram.readUInt16BE(2);
    if (datagram.length > receiveBuffer || length !== datagram.length - headerLength) {
      return { ok: false, why: "an audio packet of another length than it says" };
    }
    const sequence = datagram.readUInt32BE(12);
    if (sequence <= this.#heard) return { ok: false, why: "an audio packet that is late or repeated" };
    this.#heard = sequence;
    const header = datagram.subarray(0, headerLength);
    return { ok: true, packet: this.#crypt(header, datagram.subarray(headerLength)) };
  }

  /** Counter mode is its own inverse. */
  #crypt(header: Buffer, bytes: Uint8Array): Buffer {
    return createCipheriv("aes-128-ctr", this.#key, header).update(bytes);
  }
}

/** A datagram socket bound to one server. What cannot be sent is lost without a word, as on the device. */
export class UdpPath {
  readonly #socket: Socket;
  #at: "opening" | "open" | "closed" = "opening";

  constructor(receive: (datagram: Buffer) => void) {
    this.#socket = createSocket("udp4", (datagram) => {
      if (this.#at === "open") receive(datagram);
    });
    // Nobody listening there is reported by the next send; the firmware does not look.
    this.#socket.on("error", () => undefined);
  }

  /** Resolves when packets can be sent or never will be. */
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

import { createCipheriv } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { Inbox } from "../../../test/inbox.ts";
import { udpSettings } from "./scripted-broker.ts";

/** The server's end of the UDP audio path, on a free loopback port. */
export class ScriptedUdp {
  readonly datagrams = new Inbox<Buffer>("datagram");
  readonly #socket: Socket;
  #device: { readonly port: number; readonly address: string } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("message", (datagram, from) => {
      this.#device = from;
      this.datagrams.put(datagram);
    });
  }

  static async start(): Promise<ScriptedUdp> {
    const socket = createSocket("udp4");
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    return new ScriptedUdp(socket);
  }

  get port(): number {
    return this.#socket.address().port;
  }

  send(datagram: Buffer): void {
    if (this.#device === undefined) throw new TypeError("no device has sent anything yet");
    this.#socket.send(datagram, this.#device.port, this.#device.address);
  }

  stop(): void {
    this.#socket.close();
  }
}

/** Implemented separately from the device's cipher, as in a server. */
export function crypt(header: Buffer, payload: Buffer): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.from(udpSettings.key, "hex"), header).update(payload);
}

export function downlink(sequence: number, payload: Buffer, type = 1, length = payload.length): Buffer {
  const header = Buffer.alloc(16);
  header.writeUInt8(type, 0);
  header.writeUInt16BE(length, 2);
  header.writeUInt32BE(sequence, 12);
  return Buffer.concat([header, crypt(header, payload)]);
}

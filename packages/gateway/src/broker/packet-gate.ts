/**
 * Watches the packet boundaries of one MQTT connection as bytes come in, before any parser holds them [MQT-3]. A
 * packet that says it is too large, a length that never ends, or anything before CONNECT ends the connection at
 * its header: what an attacker sends costs no memory and no time.
 */
const CONNECT = 0x10;
const LONGEST_LENGTH_FIELD = 4;

type Place =
  | { readonly at: "type" }
  | { readonly at: "length"; value: number; bytes: number }
  | { readonly at: "body"; left: number };

export class PacketGate {
  readonly #connectLimit: number;
  readonly #packetLimit: number;
  #place: Place = { at: "type" };
  #connected = false;

  constructor(connectLimit: number, packetLimit: number) {
    this.#connectLimit = connectLimit;
    this.#packetLimit = packetLimit;
  }

  /** `undefined` when the bytes may go on, otherwise why they may not. */
  admit(chunk: Uint8Array): string | undefined {
    let index = 0;
    while (index < chunk.byteLength) {
      const place = this.#place;
      if (place.at === "body") {
        const taken = Math.min(place.left, chunk.byteLength - index);
        place.left -= taken;
        index += taken;
        if (place.left === 0) this.#place = { at: "type" };
        continue;
      }
      const byte = chunk[index] ?? 0;
      index += 1;
      if (place.at === "type") {
        const refused = this.#openPacket(byte);
        if (refused !== undefined) return refused;
      } else {
        const refused = this.#readLength(place, byte);
        if (refused !== undefined) return refused;
      }
    }
    return undefined;
  }

  #openPacket(byte: number): string | undefined {
    if (!this.#connected && byte !== CONNECT) return "the first packet is not CONNECT";
    this.#place = { at: "length", value: 0, bytes: 0 };
    return undefined;
  }

  #readLength(place: Extract<Place, { at: "length" }>, byte: number): string | undefined {
    place.value += (byte & 0x7f) * 128 ** place.bytes;
    place.bytes += 1;
    if ((byte & 0x80) !== 0) {
      return place.bytes >= LONGEST_LENGTH_FIELD ? "the packet's length has no end" : undefined;
    }
    const limit = this.#connected ? this.#packetLimit : this.#connectLimit;
    if (place.value > limit) return `a packet of ${place.value} bytes, ${limit} are allowed`;
    this.#connected = true;
    this.#place = place.value === 0 ? { at: "type" } : { at: "body", left: place.value };
    return undefined;
  }
}

/**
 * Checks the packet headers of one MQTT connection before the parser gets the bytes [MQT-3]. A packet that is too
 * large, an invalid length, or any packet before CONNECT ends the connection at its header, so that an attack costs
 * neither memory nor time.
 */
const CONNECT = 0x10;
const PUBLISH = 0x30;
const TYPE = 0xf0;
const LONGEST_LENGTH_FIELD = 4;

type ParserState =
  | { readonly at: "type" }
  | { readonly at: "length"; value: number; bytes: number }
  | { readonly at: "body"; left: number };

export class PacketGate {
  readonly #connectLimit: number;
  readonly #packetLimit: number;
  #state: ParserState = { at: "type" };
  #connected = false;
  /** Packets that began since they were last counted. */
  #publishes = 0;
  #others = 0;

  constructor(connectLimit: number, packetLimit: number) {
    this.#connectLimit = connectLimit;
    this.#packetLimit = packetLimit;
  }

  /** The packets that began since the last call. */
  takeCounts(): { readonly publishes: number; readonly others: number } {
    const counts = { publishes: this.#publishes, others: this.#others };
    this.#publishes = 0;
    this.#others = 0;
    return counts;
  }

  /** `undefined` if the bytes are accepted, otherwise the reason of the rejection. */
  admit(chunk: Uint8Array): string | undefined {
    let index = 0;
    while (index < chunk.byteLength) {
      const state = this.#state;
      if (state.at === "body") {
        const taken = Math.min(state.left, chunk.byteLength - index);
        state.left -= taken;
        index += taken;
        if (state.left === 0) this.#state = { at: "type" };
        continue;
      }
      const byte = chunk[index] ?? 0;
      index += 1;
      if (state.at === "type") {
        const rejection = this.#openPacket(byte);
        if (rejection !== undefined) return rejection;
      } else {
        const rejection = this.#readLength(state, byte);
        if (rejection !== undefined) return rejection;
      }
    }
    return undefined;
  }

  #openPacket(byte: number): string | undefined {
    if (!this.#connected && byte !== CONNECT) return "the first packet is not CONNECT";
    if ((byte & TYPE) === PUBLISH) this.#publishes += 1;
    else this.#others += 1;
    this.#state = { at: "length", value: 0, bytes: 0 };
    return undefined;
  }

  #readLength(state: Extract<ParserState, { at: "length" }>, byte: number): string | undefined {
    state.value += (byte & 0x7f) * 128 ** state.bytes;
    state.bytes += 1;
    if ((byte & 0x80) !== 0) {
      return state.bytes >= LONGEST_LENGTH_FIELD
        ? "the length field of the packet is longer than 4 bytes"
        : undefined;
    }
    const limit = this.#connected ? this.#packetLimit : this.#connectLimit;
    if (state.value > limit) return `a packet has ${state.value} bytes; at most ${limit} are allowed`;
    this.#connected = true;
    this.#state = state.value === 0 ? { at: "type" } : { at: "body", left: state.value };
    return undefined;
  }
}

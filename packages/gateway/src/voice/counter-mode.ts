import { createCipheriv } from "node:crypto";

const blockBytes = 16;
/** Enough counter blocks for a usual packet. A longer one takes several rounds. */
const blocks = new Uint8Array(96 * blockBytes);
const counter = new Uint8Array(blockBytes);

/**
 * AES-128-CTR with one key for many packets, each with its own first counter block. Node needs a new CTR cipher for
 * each packet, and creating it costs more than using it. This class encrypts the counter blocks with one ECB cipher.
 */
export class CounterMode {
  readonly #cipher;

  constructor(key: Uint8Array) {
    this.#cipher = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  }

  /** Encrypts or decrypts `bytes` into `into` at `offset`. Counter mode is its own inverse. */
  apply(first: Uint8Array, bytes: Uint8Array, into: Uint8Array, offset: number): void {
    counter.set(first);
    for (let done = 0; done < bytes.length; done += blocks.length) {
      const length = Math.min(bytes.length - done, blocks.length);
      const stream = this.#nextBlocks(Math.ceil(length / blockBytes));
      for (let at = 0; at < length; at += 1)
        into[offset + done + at] = (bytes[done + at] ?? 0) ^ (stream[at] ?? 0);
    }
  }

  #nextBlocks(count: number): Uint8Array {
    for (let block = 0; block < count; block += 1) {
      for (let at = 0; at < blockBytes; at += 1) blocks[block * blockBytes + at] = counter[at] ?? 0;
      increment();
    }
    return this.#cipher.update(blocks.subarray(0, count * blockBytes));
  }
}

/** Increments a big-endian number of 128 bits, which wraps to zero. */
function increment(): void {
  for (let at = blockBytes - 1; at >= 0; at -= 1) {
    const next = ((counter[at] ?? 0) + 1) & 0xff;
    counter[at] = next;
    if (next !== 0) return;
  }
}

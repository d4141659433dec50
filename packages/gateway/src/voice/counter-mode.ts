import { createCipheriv } from "node:crypto";

const blockBytes = 16;
/** As many counter blocks as a packet of the usual length needs; what is longer takes several turns. */
const blocks = new Uint8Array(96 * blockBytes);
const counter = new Uint8Array(blockBytes);

/**
 * AES-128-CTR under one key for many packets, each with its own first counter block. A cipher of the library is good
 * for one of them, and making it costs more than using it; so the counter blocks are encrypted here, which needs
 * nothing but the key.
 */
export class CounterMode {
  readonly #cipher;

  constructor(key: Uint8Array) {
    this.#cipher = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  }

  /** Writes `bytes` into `into` from there on, encrypted or decrypted: counter mode is its own inverse. */
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

/** One number of 128 bits, the highest byte first; after the last one comes zero. */
function increment(): void {
  for (let at = blockBytes - 1; at >= 0; at -= 1) {
    const next = ((counter[at] ?? 0) + 1) & 0xff;
    counter[at] = next;
    if (next !== 0) return;
  }
}

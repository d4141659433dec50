/** Compared with the library's counter mode, which works for one packet. */
import { createCipheriv, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { CounterMode } from "../../src/voice/counter-mode.ts";

function crypt(mode: CounterMode, first: Buffer, bytes: Buffer): Buffer {
  const into = Buffer.alloc(bytes.length + 4, 0xee);
  mode.apply(first, bytes, into, 3);
  expect([...into.subarray(0, 3), into.at(-1)]).toEqual([0xee, 0xee, 0xee, 0xee]);
  return into.subarray(3, -1);
}

describe("counter mode", () => {
  it("equals the library's output for packets of all lengths with one key", () => {
    const key = randomBytes(16);
    const mode = new CounterMode(key);
    for (const length of [0, 1, 15, 16, 17, 120, 1_484, 1_535, 1_536, 1_537, 65_491]) {
      const [first, bytes] = [randomBytes(16), randomBytes(length)];
      const theirs = createCipheriv("aes-128-ctr", key, first).update(bytes);
      expect(crypt(mode, first, bytes).equals(theirs), `${length} bytes`).toBe(true);
    }
  });

  it("carries like the library, also from the last counter to the first", () => {
    const key = randomBytes(16);
    const mode = new CounterMode(key);
    for (const full of [1, 4, 8, 16]) {
      const first = Buffer.concat([randomBytes(16 - full), Buffer.alloc(full, 0xff)]);
      const bytes = randomBytes(100);
      const theirs = createCipheriv("aes-128-ctr", key, first).update(bytes);
      expect(crypt(mode, first, bytes).equals(theirs), `${full} bytes carried`).toBe(true);
    }
  });

  it("is its own inverse", () => {
    const mode = new CounterMode(randomBytes(16));
    const [first, bytes] = [randomBytes(16), randomBytes(333)];
    expect(crypt(mode, first, crypt(mode, first, bytes)).equals(bytes)).toBe(true);
  });
});

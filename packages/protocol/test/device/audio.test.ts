import { audioFramingOf, decodeAudio, encodeAudio } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";

const opus = Uint8Array.of(0xfc, 0xff, 0xfe);
const frame1 = opus;
const frame2 = Uint8Array.of(0, 2, 0, 0, 0, 0, 0, 0, 0x01, 0x02, 0x03, 0x04, 0, 0, 0, 3, 0xfc, 0xff, 0xfe);
const frame3 = Uint8Array.of(0, 0, 0, 3, 0xfc, 0xff, 0xfe);

function changed(frame: Uint8Array, at: number, byte: number): Uint8Array {
  const copy = frame.slice();
  copy[at] = byte;
  return copy;
}

describe("golden bytes", () => {
  test.each([
    [1, frame1, 0],
    [2, frame2, 0x01020304],
    [3, frame3, 0],
  ] as const)("[AUD-1…3] framing %i is written and read byte by byte", (framing, bytes, timestampMs) => {
    expect(encodeAudio(framing, { timestampMs: 0x01020304, opus })).toEqual({
      outcome: "ok",
      message: bytes,
    });
    expect(decodeAudio(framing, bytes)).toEqual({ outcome: "ok", message: { timestampMs, opus } });
  });

  it("a frame inside a larger buffer is read from its own start", () => {
    const pool = new Uint8Array(64).fill(0xee);
    pool.set(frame2, 7);
    expect(decodeAudio(2, pool.subarray(7, 7 + frame2.length))).toEqual({
      outcome: "ok",
      message: { timestampMs: 0x01020304, opus },
    });
  });

  test.each([1, 2, 3] as const)("framing %i supports an empty packet", (framing) => {
    const encoded = encodeAudio(framing, { timestampMs: 0, opus: new Uint8Array() });
    if (encoded.outcome !== "ok") throw new TypeError("an empty packet must be encodable");
    expect(decodeAudio(framing, encoded.message)).toEqual({
      outcome: "ok",
      message: { timestampMs: 0, opus: new Uint8Array() },
    });
  });
});

describe("an encoded packet decodes to itself", () => {
  const audio = fc.record({
    timestampMs: fc.integer({ min: 0, max: 0xffffffff }),
    opus: fc.uint8Array({ maxLength: 2_000 }),
  });

  test.each([1, 2, 3] as const)("framing %i", (framing) => {
    fc.assert(
      fc.property(audio, (packet) => {
        const encoded = encodeAudio(framing, packet);
        if (encoded.outcome !== "ok") throw new TypeError("a small packet must be encodable");
        expect(decodeAudio(framing, encoded.message)).toEqual({
          outcome: "ok",
          message: { opus: packet.opus, timestampMs: framing === 2 ? packet.timestampMs : 0 },
        });
      }),
    );
  });

  test.each([1, 2, 3] as const)("framing %i returns an outcome for any bytes", (framing) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(["ok", "invalid"]).toContain(decodeAudio(framing, bytes).outcome);
      }),
    );
  });
});

describe("an inconsistent header is invalid", () => {
  test.each([
    ["2: nothing at all", 2, new Uint8Array(), "16 bytes, got 0"],
    ["2: half a header", 2, frame2.subarray(0, 15), "16 bytes, got 15"],
    ["2: version 3", 2, changed(frame2, 1, 3), "version 3"],
    ["2: version 258", 2, changed(frame2, 0, 1), "version 258"],
    ["2: JSON instead of audio", 2, changed(frame2, 3, 1), "type 1"],
    ["2: one byte too many", 2, changed(frame2, 15, 4), "says 4 bytes of audio, 3 came"],
    ["2: one byte too few", 2, changed(frame2, 15, 2), "says 2 bytes of audio, 3 came"],
    ["2: four gigabytes", 2, changed(frame2, 12, 0xff), "3 came"],
    ["2: the packet is missing", 2, frame2.subarray(0, 16), "says 3 bytes of audio, 0 came"],
    ["3: nothing at all", 3, new Uint8Array(), "4 bytes, got 0"],
    ["3: half a header", 3, frame3.subarray(0, 3), "4 bytes, got 3"],
    ["3: another type", 3, changed(frame3, 0, 1), "type 1"],
    ["3: one byte too many", 3, changed(frame3, 3, 4), "says 4 bytes of audio, 3 came"],
    ["3: one byte too few", 3, changed(frame3, 3, 2), "says 2 bytes of audio, 3 came"],
    ["3: the packet is missing", 3, frame3.subarray(0, 4), "says 3 bytes of audio, 0 came"],
  ] as const)("framing %s", (_, framing, bytes, reason) => {
    expect(decodeAudio(framing, bytes)).toEqual({
      outcome: "invalid",
      reason: expect.stringContaining(reason),
    });
  });
});

describe("framing 3 has two bytes for the length", () => {
  it("supports 65,535 bytes", () => {
    const encoded = encodeAudio(3, { timestampMs: 0, opus: new Uint8Array(65_535) });
    if (encoded.outcome !== "ok") throw new TypeError("65,535 bytes must be encodable");
    expect(decodeAudio(3, encoded.message)).toMatchObject({ outcome: "ok" });
  });

  it("rejects 65,536 bytes instead of writing a wrong length", () => {
    expect(encodeAudio(3, { timestampMs: 0, opus: new Uint8Array(65_536) })).toEqual({
      outcome: "invalid",
      reason: expect.stringContaining("got 65536"),
    });
  });

  it("is the only one with that bound", () => {
    expect(encodeAudio(2, { timestampMs: 0, opus: new Uint8Array(65_536) })).toMatchObject({ outcome: "ok" });
    expect(encodeAudio(1, { timestampMs: 0, opus: new Uint8Array(65_536) })).toMatchObject({ outcome: "ok" });
  });
});

describe("Protocol-Version names the framing; anything else is framing 1", () => {
  test.each([
    ["1", 1],
    ["2", 2],
    ["3", 3],
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 1],
    [0, 1],
    [2.5, 1],
    ["", 1],
    ["two", 1],
    ["23", 1],
    [undefined, 1],
    [null, 1],
    [true, 1],
    [[2], 1],
    [Number.NaN, 1],
  ])("%j", (version, framing) => {
    expect(audioFramingOf(version)).toBe(framing);
  });
});

import { isMonoOpus, opusDurationMs } from "@tendon/protocol";
import { describe, expect, it, test } from "vitest";

/** TOC byte: configuration, stereo, how many frames. */
function packet(config: number, code: number, ...rest: number[]): Uint8Array {
  return Uint8Array.of((config << 3) | code, ...rest);
}

function bytes(count: number): number[] {
  return Array.from({ length: count }, () => 7);
}

describe("an Opus packet", () => {
  test.each([
    ["one frame of 60 ms", packet(11, 0, ...bytes(50)), 60],
    ["silence, its first byte alone", packet(11, 0), 60],
    ["two equal frames of 20 ms", packet(9, 1, ...bytes(40)), 40],
    ["two frames of 10 ms, the first of 3 bytes", packet(8, 2, 3, ...bytes(9)), 20],
    ["two frames, the first of 300 bytes", packet(8, 2, 252, 12, ...bytes(305)), 20],
    ["three equal frames of 20 ms", packet(15, 3, 3, ...bytes(30)), 60],
    ["three frames of different lengths", packet(15, 3, 128 | 3, 5, 6, ...bytes(20)), 60],
    ["three frames and padding", packet(15, 3, 64 | 3, 4, ...bytes(30), 0, 0, 0, 0), 60],
    ["24 frames of 2.5 ms", packet(16, 3, 24, ...bytes(48)), 60],
  ])("of %s has that duration", (_, opus, ms) => {
    expect(opusDurationMs(opus)).toBe(ms);
  });

  test.each([
    ["nothing", new Uint8Array()],
    ["a frame that is too long", packet(11, 0, ...bytes(1_276))],
    ["two equal frames of an odd length", packet(9, 1, ...bytes(41))],
    ["a first frame that is longer than the packet", packet(8, 2, 50, ...bytes(9))],
    ["no number of frames", packet(15, 3)],
    ["no frames", packet(15, 3, 0)],
    ["frames that do not share the rest equally", packet(15, 3, 3, ...bytes(31))],
    ["frames whose lengths are cut off", packet(15, 3, 128 | 3, 5)],
    ["frames longer than the packet", packet(15, 3, 128 | 3, 50, 60, ...bytes(20))],
    ["padding without an end", packet(15, 3, 64 | 3, 255, 255)],
    ["padding longer than the packet", packet(15, 3, 64 | 3, 200, ...bytes(30))],
    ["more than 120 ms", packet(11, 3, 3, ...bytes(30))],
  ])("is not %s", (_, opus) => {
    expect(opusDurationMs(opus)).toBeUndefined();
  });

  it("reports whether it is stereo", () => {
    expect(isMonoOpus(Uint8Array.of(11 << 3))).toBe(true);
    expect(isMonoOpus(Uint8Array.of((11 << 3) | 4))).toBe(false);
  });
});

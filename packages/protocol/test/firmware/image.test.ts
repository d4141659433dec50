import { namesBoard, readImage } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeImage } from "../../../../test/firmware-image.ts";

function changed(at: number, value: number): Buffer {
  const image = makeImage();
  image[at] = value;
  return image;
}

describe("a firmware image", () => {
  it("has a chip, version, project and end", () => {
    const image = makeImage({ version: "2.5.1", project: "mine", chipId: 5 });
    expect(readImage(image)).toEqual({
      outcome: "ok",
      message: { chip: "esp32c3", version: "2.5.1", project: "mine", end: image.length - 32, digested: true },
    });
    const bare = makeImage({ digest: false });
    expect(readImage(bare)).toMatchObject({ message: { digested: false, end: bare.length } });
  });

  it("may be followed by a signature", () => {
    const signed = Buffer.concat([makeImage(), Buffer.alloc(4096, 0xff)]);
    expect(readImage(signed)).toMatchObject({ outcome: "ok", message: { end: makeImage().length - 32 } });
  });

  it.each([
    ["nothing", Buffer.alloc(0), "0xE9"],
    ["text", Buffer.from("#!/bin/sh\n"), "0xE9"],
    ["an archive", Buffer.from("PK\u0003\u0004"), "0xE9"],
    ["the magic byte alone", Buffer.from([0xe9]), "too short"],
    ["a bootloader, or all partitions in one file", changed(32, 0x50), "bootloader"],
    ["another chip", changed(12, 0x77), "chip"],
    ["no segments", changed(1, 0), "damaged"],
    ["more segments than there can be", changed(1, 200), "damaged"],
    ["a segment longer than the file", changed(31, 0x7f), "damaged"],
    ["a flipped bit", changed(300, 0xaa), "damaged"],
    ["its second half missing", makeImage().subarray(0, 2_000), "cut short"],
    ["its digest missing", makeImage().subarray(0, -32), "digest is missing"],
  ])("with %s is rejected with the reason", (_, bytes, reason) => {
    const read = readImage(bytes);
    expect(read.outcome).toBe("invalid");
    expect(read.outcome === "invalid" && read.reason).toContain(reason);
  });

  it("never makes the parser throw, whatever its bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), fc.nat(5_000), (noise, at) => {
        const image = makeImage({ codeBytes: 600 });
        image.set(noise.subarray(0, Math.max(0, image.length - at)), Math.min(at, image.length));
        expect(["ok", "invalid"]).toContain(readImage(image).outcome);
        expect(["ok", "invalid"]).toContain(readImage(noise).outcome);
      }),
    );
  });

  it("has no control characters in its description", () => {
    const read = readImage(makeImage({ project: "a\u001b[31m\u0007" }));
    expect(read).toMatchObject({ message: { project: "a?[31m?" } });
  });
});

describe("the board it was built for", () => {
  it.each([
    ["esp-box-3", "esp-box-3", true],
    ["esp-box-3", "esp-box", false],
    ["esp-box-3", "m5stack-core-s3", false],
    ["lilygo.t-display", "lilygo.t-display", true],
  ])("an image of %s names %s: %s", (built, board, named) => {
    expect(namesBoard(makeImage({ board: built }), board)).toBe(named);
  });

  it("is found at the very end, but not beyond it", () => {
    expect(namesBoard(Buffer.from("xx esp-box"), "esp-box")).toBe(true);
    expect(namesBoard(Buffer.from("xx esp-bo"), "esp-box")).toBe(false);
    expect(namesBoard(Buffer.from(""), "esp-box")).toBe(false);
  });
});

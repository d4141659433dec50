import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSplitter } from "../../src/home/line-splitter.ts";

const tooLong = Symbol("too long");
const notText = Symbol("not text");

/** Feeds the bytes in these pieces through one reused buffer, as a socket does. */
function split(bytes: Buffer, cuts: readonly number[], longest: number): (string | symbol)[] {
  const found: (string | symbol)[] = [];
  const splitter = new LineSplitter(longest, {
    line: (text) => found.push(text),
    tooLong: () => found.push(tooLong),
    notText: () => found.push(notText),
  });
  const edges = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
  const shared = Buffer.alloc(bytes.length);
  for (const [index, edge] of edges.slice(1).entries()) {
    const from = edges[index] ?? 0;
    bytes.copy(shared, 0, from, edge);
    splitter.push(shared.subarray(0, edge - from));
    shared.fill(0x7a);
  }
  splitter.end();
  return found;
}

const cuts = fc.array(fc.nat(200), { maxLength: 20 });
const lineText = fc.string({ unit: "grapheme", maxLength: 30 }).map((text) => text.replaceAll("\n", ""));

describe("lines", () => {
  it("are the same however the bytes are split", () => {
    fc.assert(
      fc.property(fc.array(lineText), cuts, (lines, at) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        expect(split(bytes, at, 10_000)).toEqual(lines);
      }),
    );
  });

  it("are the same with a bound, however the bytes are split; each long line is reported once", () => {
    fc.assert(
      fc.property(fc.array(lineText), cuts, fc.integer({ min: 1, max: 40 }), (lines, at, longest) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        expect(split(bytes, at, longest)).toEqual(
          lines.map((line) => (Buffer.byteLength(line) > longest ? tooLong : line)),
        );
      }),
    );
  });

  it("of any bytes are text or reported as invalid", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), cuts, (raw, at) => {
        const bytes = Buffer.from(raw);
        const whole = split(bytes, [], 10_000);
        expect(split(bytes, at, 10_000)).toEqual(whole);
        const count = bytes.filter((byte) => byte === 10).length;
        expect(whole.length).toBe(bytes.length > 0 && bytes.at(-1) !== 10 ? count + 1 : count);
      }),
    );
  });

  it("count without a newline at the end, but an empty rest does not", () => {
    expect(split(Buffer.from("a\nb"), [], 10)).toEqual(["a", "b"]);
    expect(split(Buffer.from("a\n"), [], 10)).toEqual(["a"]);
    expect(split(Buffer.from("a\n\n"), [], 10)).toEqual(["a", ""]);
    expect(split(Buffer.from(""), [], 10)).toEqual([]);
    expect(split(Buffer.from("0123456789a"), [3, 5], 10)).toEqual([tooLong]);
  });
});

import fc from "fast-check";

const firstSurrogate = 0xd800;
const surrogates = 0x800;
const last = 0x10ffff;

/**
 * Any code point, like fast-check's unit "binary". That one makes a table of all 1.1 million of them, which takes a second
 * and stays in memory.
 */
export const codePoint = fc.nat({ max: last - surrogates }).map(
  (index) => String.fromCodePoint(index < firstSurrogate ? index : index + surrogates),
  (text) => indexOf(text),
);

function indexOf(text: unknown): number {
  const point = typeof text === "string" ? text.codePointAt(0) : undefined;
  const isOne = point !== undefined && String.fromCodePoint(point) === text;
  if (!isOne || (point >= firstSurrogate && point < firstSurrogate + surrogates))
    throw new TypeError("not one code point");
  return point < firstSurrogate ? point : point - surrogates;
}

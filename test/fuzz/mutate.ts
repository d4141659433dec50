/** Changes an input a little: bytes, texts and JSON. */
import { oddNumberTexts, oddTexts } from "./dictionary.ts";
import { mutateJson } from "./mutate-json.ts";
import type { Random } from "./random.ts";

type Mutation = (input: Buffer, random: Random, other: Buffer) => Buffer;

const edges = [0x00, 0x01, 0x0a, 0x20, 0x22, 0x5c, 0x7f, 0x80, 0xc0, 0xed, 0xf8, 0xff];

function replaced(input: Buffer, from: number, to: number, by: Buffer): Buffer {
  return Buffer.concat([input.subarray(0, from), by, input.subarray(to)]);
}

/** A range that is mostly short. */
function range(input: Buffer, random: Random): readonly [from: number, to: number] {
  const from = random.below(input.length + 1);
  return [from, Math.min(input.length, from + random.size(input.length + 1))];
}

const mutations: readonly Mutation[] = [
  function flipBit(input, random) {
    const copy = Buffer.from(input);
    const at = random.below(copy.length);
    copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
    return copy;
  },
  function setByte(input, random) {
    const copy = Buffer.from(input);
    copy[random.below(copy.length)] = random.chance(0.5) ? random.pick(edges) : random.below(256);
    return copy;
  },
  function insertBytes(input, random) {
    const at = random.below(input.length + 1);
    return replaced(input, at, at, random.bytes(random.size(64)));
  },
  function remove(input, random) {
    return replaced(input, ...range(input, random), Buffer.alloc(0));
  },
  function duplicate(input, random) {
    const [from, to] = range(input, random);
    return replaced(input, to, to, input.subarray(from, to));
  },
  function truncate(input, random) {
    return input.subarray(0, random.below(input.length + 1));
  },
  function splice(input, random, other) {
    const [from, to] = range(other, random);
    return replaced(input, ...range(input, random), other.subarray(from, to));
  },
  function join(input, random, other) {
    return Buffer.concat([
      input.subarray(0, random.below(input.length + 1)),
      other.subarray(random.below(other.length + 1)),
    ]);
  },
  function setNumber(input, random) {
    const copy = Buffer.from(input);
    const size = random.pick([1, 2, 4]);
    if (copy.length < size) return copy;
    const value = random.pick([0, 1, 2 ** (size * 8 - 1) - 1, 2 ** (size * 8 - 1), 2 ** (size * 8) - 1]);
    const at = random.below(copy.length - size + 1);
    if (random.chance(0.5)) copy.writeUIntBE(value, at, size);
    else copy.writeUIntLE(value, at, size);
    return copy;
  },
  function insertOddText(input, random) {
    return replaced(input, ...range(input, random), Buffer.from(random.pick(oddTexts)));
  },
  function swapNumber(input, random) {
    const text = input.toString("latin1");
    const numbers = [...text.matchAll(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g)];
    if (numbers.length === 0) return input;
    const number = random.pick(numbers);
    const by = Buffer.from(random.pick(oddNumberTexts));
    return replaced(input, number.index, number.index + number[0].length, by);
  },
  function nest(input, random) {
    const at = random.below(input.length + 1);
    const [open, close] = random.pick([
      ["[", "]"],
      ['{"a":', "}"],
      ["(", ")"],
      ["<", ">"],
    ] as const);
    const levels = random.size(3_000);
    const deep = random.chance(0.5) ? `${open.repeat(levels)}1${close.repeat(levels)}` : open.repeat(levels);
    return replaced(input, at, at, Buffer.from(deep));
  },
];

function repeat(input: Buffer, random: Random, maxBytes: number): Buffer {
  const [from, to] = range(input, random);
  const part = input.subarray(from, Math.min(to, from + 64));
  const unit = part.length > 0 && random.chance(0.7) ? part : Buffer.from(random.pick(oddTexts) || "a");
  const times = Math.floor(random.size(maxBytes) / unit.length);
  return replaced(input, to, to, Buffer.concat(Array.from({ length: times }, () => unit)));
}

export function mutate(input: Buffer, other: Buffer, random: Random, maxBytes: number): Buffer {
  let changed = input;
  for (let count = random.size(5); count > 0; count -= 1) {
    if (changed.length === 0) changed = Buffer.from(other);
    if (changed.length === 0) changed = random.bytes(random.size(64));
    // A few become as long as the target accepts: slow expressions show only there.
    if (random.chance(0.02)) changed = repeat(changed, random, maxBytes);
    else {
      const asJson = random.chance(0.85) ? mutateJson(changed, random, other) : undefined;
      changed = asJson ?? random.pick(mutations)(changed, random, other);
    }
  }
  return changed.length > maxBytes ? changed.subarray(0, maxBytes) : changed;
}

/** Changes JSON so that it mostly stays JSON: keys dropped, doubled and renamed, types swapped, values moved. */
import { oddKeys, oddNumbers, oddNumberTexts, oddTexts } from "./dictionary.ts";
import type { Random } from "./random.ts";

type Container = unknown[] | { [key: string]: unknown };

/** JSON larger than this is changed as bytes: parsing it for each input takes too long. */
const longest = 64 * 1024;
const mostNodes = 2_000;

interface Place {
  readonly parent: Container;
  readonly key: string;
}

function parsed(input: Buffer): unknown {
  if (input.length > longest || input.length === 0) return undefined;
  try {
    return JSON.parse(input.toString()) as unknown;
  } catch {
    return undefined;
  }
}

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null;
}

/** `__proto__` becomes a member like any other. */
function set({ parent, key }: Place, value: unknown): void {
  Object.defineProperty(parent, key, { value, writable: true, enumerable: true, configurable: true });
}

function get({ parent, key }: Place): unknown {
  return Object.getOwnPropertyDescriptor(parent, key)?.value as unknown;
}

function remove({ parent, key }: Place): void {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else Reflect.deleteProperty(parent, key);
}

function placesIn(root: Container): Place[] {
  const places: Place[] = [];
  const open: Container[] = [root];
  for (let parent = open.pop(); parent !== undefined && places.length < mostNodes; parent = open.pop()) {
    for (const key of Object.keys(parent)) {
      const place = { parent, key };
      places.push(place);
      const value = get(place);
      if (isContainer(value)) open.push(value);
    }
  }
  return places;
}

function oddValue(random: Random): unknown {
  switch (random.below(10)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
    case 3:
      return random.pick(oddNumbers);
    case 4:
      return [];
    case 5:
      return Object.fromEntries([[random.pick(oddKeys), random.pick(oddTexts)]]);
    case 6:
      return random.pick(oddTexts).repeat(random.size(400));
    case 7:
      return nested(random, random.size(200));
    default:
      return random.pick(oddTexts);
  }
}

function nested(random: Random, levels: number): unknown {
  const key = random.chance(0.3) ? random.pick(oddKeys) : "a";
  let value: unknown = random.pick(oddNumbers);
  for (let level = 0; level < levels; level += 1) {
    value = random.chance(0.5) ? [value] : Object.fromEntries([[key, value]]);
  }
  return value;
}

/** The same content as another type. */
function otherType(value: unknown, random: Random): unknown {
  if (typeof value === "number") return random.pick([String(value), [value], value !== 0, { value }]);
  if (typeof value === "string") return random.pick([Number(value) || 0, [value], { value }, true, null]);
  if (typeof value === "boolean") return random.pick([String(value), Number(value), [value], null]);
  if (value === null) return random.pick(["null", 0, false, {}, []]);
  if (Array.isArray(value)) return random.pick([{ ...value }, value[0] ?? null, JSON.stringify(value)]);
  return random.pick([Object.entries(value as object), JSON.stringify(value), Object.keys(value as object)]);
}

function changeText(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  const odd = random.pick(oddTexts);
  return random.pick([
    () => text.slice(0, at) + odd + text.slice(at),
    () => text.slice(0, at) + odd.repeat(random.size(200)) + text.slice(at),
    () => text.slice(0, at),
    () => text.toUpperCase(),
    () => `${text} `,
    () => text.repeat(random.size(50)),
  ])();
}

function changeAt(place: Place, places: readonly Place[], donor: unknown, random: Random): void {
  const value = get(place);
  switch (random.below(9)) {
    case 0:
      remove(place);
      return;
    case 1:
      set(place, otherType(value, random));
      return;
    case 2:
      set(place, oddValue(random));
      return;
    case 3: {
      const key = random.pick(oddKeys);
      if (Array.isArray(place.parent)) place.parent.push(oddValue(random));
      else set({ parent: place.parent, key }, random.chance(0.5) ? value : oddValue(random));
      return;
    }
    case 4: {
      const other = random.pick(places);
      // A copy, because a value inside itself is no JSON.
      set(place, structuredClone(get(other)));
      return;
    }
    case 5:
      if (isContainer(donor)) {
        const from = placesIn(donor);
        if (from.length > 0) set(place, structuredClone(get(random.pick(from))));
      }
      return;
    case 6:
      if (Array.isArray(value) && value.length > 0) {
        const count = random.size(300);
        set(
          place,
          Array.from({ length: count }, () => random.pick(value)),
        );
      } else if (isContainer(value)) set(place, { ...value, [`k${random.below(1_000)}`]: oddValue(random) });
      return;
    default:
      if (typeof value === "string") set(place, changeText(value, random));
      else if (typeof value === "number")
        set(place, random.chance(0.5) ? random.pick(oddNumbers) : value + random.pick([-1, 1, 0.5]));
      else set(place, oddValue(random));
  }
}

/** `undefined` if the input is no JSON object or list. */
export function mutateJson(input: Buffer, random: Random, other: Buffer): Buffer | undefined {
  const root = parsed(input);
  if (!isContainer(root)) return undefined;
  const donor = random.chance(0.2) ? parsed(other) : undefined;
  for (let count = random.size(4); count > 0; count -= 1) {
    const places = placesIn(root);
    if (places.length === 0) {
      if (Array.isArray(root)) root.push(oddValue(random));
      else set({ parent: root, key: random.pick(oddKeys) }, oddValue(random));
    } else changeAt(random.pick(places), places, donor, random);
  }
  const text = stringify(root);
  if (text === undefined || text.length > 16 * longest) return undefined;
  return Buffer.from(random.chance(0.1) ? doubleKey(text, random) : text);
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** A member given twice, or a number that JavaScript cannot write. */
function doubleKey(text: string, random: Random): string {
  const members = [...text.matchAll(/[{,]("(?:[^"\\]|\\.){0,64}":)/g)];
  if (members.length === 0) return text;
  const { index, 1: member = "" } = random.pick(members);
  const value = random.chance(0.5) ? random.pick(oddNumberTexts) : JSON.stringify(random.pick(oddTexts));
  return `${text.slice(0, index + 1)}${member}${value},${text.slice(index + 1)}`;
}

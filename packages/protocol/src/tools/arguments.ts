/**
 * Finds values that match a schema but that the firmware's JSON parser would change or drop [MCP-10]. The device would
 * act on another value or never answer, so the gateway rejects them before sending.
 */
import { pointerPart } from "../json-schema/pointer.ts";
import { limits } from "../limits.ts";
import { isObject } from "../outcome.ts";

export interface ArgumentProblem {
  /** JSON pointer into the arguments; "" is the arguments as a whole. */
  readonly path: string;
  readonly message: string;
}

const loneSurrogate = /\p{Surrogate}/u;
const INT32_MAX = 2_147_483_647;
const INT32_MIN = -2_147_483_648;

/** Values that a board's parser would change or drop. */
export function firmwareHazards(args: unknown): ArgumentProblem[] {
  return hazardsOf(args, true);
}

/** Values that JSON cannot represent: the check for programs, which accept more numbers and names than boards. */
export function programHazards(args: unknown): ArgumentProblem[] {
  return hazardsOf(args, false);
}

function hazardsOf(args: unknown, firmware: boolean): ArgumentProblem[] {
  const found: ArgumentProblem[] = [];
  look(args, "", 0, firmware, found);
  return found;
}

function look(
  value: unknown,
  path: string,
  depth: number,
  firmware: boolean,
  found: ArgumentProblem[],
): void {
  if (depth > limits.callArgumentDepth.max) {
    found.push({ path, message: "is nested too deeply for a device" });
  } else if (typeof value === "string") {
    note(found, path, textHazard(value, firmware));
  } else if (typeof value === "number") {
    note(found, path, numberHazard(value, firmware));
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) look(item, `${path}/${index}`, depth + 1, firmware, found);
  } else if (isObject(value)) {
    const names = new Set<string>();
    for (const key of Object.keys(value)) {
      const at = `${path}/${pointerPart(key)}`;
      note(found, at, textHazard(key, firmware));
      look(value[key], at, depth + 1, firmware, found);
      const name = key.toLowerCase();
      // A board would use the first of `URL` and `url`, but only one of them was checked.
      if (firmware && names.has(name)) note(found, at, "is given twice; devices ignore case in names");
      names.add(name);
    }
  }
}

function note(found: ArgumentProblem[], path: string, message: string | undefined): void {
  if (message !== undefined) found.push({ path, message });
}

function numberHazard(value: number, firmware: boolean): string | undefined {
  // 1e400 is parsed as infinity and would be written as null.
  if (!firmware) return Number.isFinite(value) ? undefined : "is too large for a number";
  const whole = Number.isInteger(value) || !Number.isFinite(value);
  const fits = !whole || (value <= INT32_MAX && value >= INT32_MIN);
  return fits ? undefined : "does not fit the 32-bit integers of a device";
}

function textHazard(text: string, firmware: boolean): string | undefined {
  if (firmware && text.includes("\u0000")) return "has a NUL character, where a device would cut it";
  return loneSurrogate.test(text) ? "is not well-formed Unicode, which a device cannot read" : undefined;
}

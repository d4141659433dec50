/**
 * Values that fit a schema and would still be changed or swallowed by the firmware's JSON parser [MCP-10]. Sent as
 * they are, the device would act on something else or never answer; so they are refused before sending.
 */
import { limits } from "../limits.ts";
import { isObject } from "../outcome.ts";
import { pointerPart } from "./schema-repair.ts";

export interface ArgumentProblem {
  /** JSON pointer into the arguments; "" is the arguments as a whole. */
  readonly path: string;
  readonly message: string;
}

const loneSurrogate = /\p{Surrogate}/u;
const INT32_MAX = 2_147_483_647;
const INT32_MIN = -2_147_483_648;

/** What a board's parser would change or swallow. */
export function firmwareHazards(args: unknown): ArgumentProblem[] {
  return hazardsOf(args, "", 0, true);
}

/** What no JSON parser could be given as it is: the same for programs, whose numbers and names are wider. */
export function programHazards(args: unknown): ArgumentProblem[] {
  return hazardsOf(args, "", 0, false);
}

function hazardsOf(value: unknown, path: string, depth: number, firmware: boolean): ArgumentProblem[] {
  if (depth > limits.callArgumentDepth.max) return [{ path, message: "is nested too deeply for a device" }];
  if (typeof value === "string") return textHazards(value, path, firmware);
  if (typeof value === "number") return numberHazards(value, path, firmware);
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => hazardsOf(item, `${path}/${index}`, depth + 1, firmware));
  }
  if (!isObject(value)) return [];
  const names = new Set<string>();
  return Object.entries(value).flatMap(([key, item]) => {
    const at = `${path}/${pointerPart(key)}`;
    const problems = [...textHazards(key, at, firmware), ...hazardsOf(item, at, depth + 1, firmware)];
    const name = key.toLowerCase();
    // A board would take the first of `URL` and `url`, and only one of them has been checked.
    if (firmware && names.has(name)) {
      problems.push({ path: at, message: "is given twice; devices ignore case in names" });
    }
    names.add(name);
    return problems;
  });
}

function numberHazards(value: number, path: string, firmware: boolean): ArgumentProblem[] {
  // 1e400 is read as infinite and would be written as null.
  if (!firmware) return Number.isFinite(value) ? [] : [{ path, message: "is too large for a number" }];
  const whole = Number.isInteger(value) || !Number.isFinite(value);
  if (!whole || (value <= INT32_MAX && value >= INT32_MIN)) return [];
  return [{ path, message: "does not fit the 32-bit integers of a device" }];
}

function textHazards(text: string, path: string, firmware: boolean): ArgumentProblem[] {
  if (firmware && text.includes("\u0000")) {
    return [{ path, message: "has a NUL character, where a device would cut it" }];
  }
  if (loneSurrogate.test(text)) {
    return [{ path, message: "is not well-formed Unicode, which a device cannot read" }];
  }
  return [];
}

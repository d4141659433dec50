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

export function firmwareHazards(value: unknown, path = "", depth = 0): ArgumentProblem[] {
  if (depth > limits.callArgumentDepth.max) return [{ path, message: "is nested too deeply for a device" }];
  if (typeof value === "string") return textHazards(value, path);
  if (typeof value === "number") {
    // 1e400 is read as infinite and would be written as null.
    const whole = Number.isInteger(value) || !Number.isFinite(value);
    if (whole && !(value <= INT32_MAX && value >= INT32_MIN)) {
      return [{ path, message: "does not fit the 32-bit integers of a device" }];
    }
    return [];
  }
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => firmwareHazards(item, `${path}/${index}`, depth + 1));
  }
  if (isObject(value)) {
    const names = new Set<string>();
    return Object.entries(value).flatMap(([key, item]) => {
      const at = `${path}/${pointerPart(key)}`;
      const problems = [...textHazards(key, at), ...firmwareHazards(item, at, depth + 1)];
      const name = key.toLowerCase();
      // A device would take the first of `URL` and `url`, and only one of them has been checked.
      if (names.has(name))
        problems.push({ path: at, message: "is given twice; devices ignore case in names" });
      names.add(name);
      return problems;
    });
  }
  return [];
}

function textHazards(text: string, path: string): ArgumentProblem[] {
  if (text.includes("\u0000")) return [{ path, message: "has a NUL character, where a device would cut it" }];
  if (loneSurrogate.test(text))
    return [{ path, message: "is not well-formed Unicode, which a device cannot read" }];
  return [];
}

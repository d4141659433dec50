/** Keywords about what is inside an object or a list. */
import { isObject, type JsonObject } from "../outcome.ts";
import { type Check, type Compile, lower, no, unknown, type Verdict, yes } from "./run.ts";
import { counted, pass } from "./value-keywords.ts";

export function required(names: readonly string[]): Check {
  return (value, run) => {
    if (!isObject(value)) return yes;
    run.spend(names.length >> 3);
    let verdict: Verdict = yes;
    for (const name of names) {
      if (Object.hasOwn(value, name)) continue;
      verdict = run.failAt(name, "required", "is required");
      if (run.ended) return no;
    }
    return verdict;
  };
}

export function properties(given: JsonObject, compile: Compile): Check {
  const checks = new Map(Object.entries(given).map(([name, child]) => [name, compile(child)]));
  return (value, run) => {
    if (!isObject(value)) return yes;
    let verdict: Verdict = yes;
    for (const name of Object.keys(value)) {
      const check = checks.get(name);
      if (check === undefined) continue;
      verdict = lower(verdict, run.at(name, check, value[name]));
      if (verdict === no && run.ended) return no;
    }
    return verdict;
  };
}

/** Which names an expression fits is not evaluated, so its schema may hold for any of them. */
export function patternProperties(given: JsonObject): Check {
  if (Object.keys(given).length === 0) return pass;
  return (value) => (isObject(value) && Object.keys(value).length > 0 ? unknown : yes);
}

export function additionalProperties(given: unknown, compile: Compile, schema: JsonObject): Check {
  const declared = isObject(schema["properties"]) ? schema["properties"] : {};
  const expressions = schema["patternProperties"];
  // Any other name may be one that an expression fits.
  if (isObject(expressions) && Object.keys(expressions).length > 0) return pass;
  const check = compile(given);
  return (value, run) => {
    if (!isObject(value)) return yes;
    let verdict: Verdict = yes;
    for (const name of Object.keys(value)) {
      if (Object.hasOwn(declared, name)) continue;
      if (given === false) {
        const words = run.atTop ? "is not an argument of this tool" : "is not accepted here";
        verdict = run.failAt(name, "additionalProperties", words);
      } else {
        verdict = lower(verdict, run.at(name, check, value[name]));
      }
      if (verdict === no && run.ended) return no;
    }
    return verdict;
  };
}

export function propertyNames(given: unknown, compile: Compile): Check {
  const check = compile(given);
  return (value, run) => {
    if (!isObject(value)) return yes;
    let verdict: Verdict = yes;
    for (const name of Object.keys(value)) {
      const own = run.silently(check, name);
      verdict = lower(
        verdict,
        own === no ? run.failAt(name, "propertyNames", "has a name that is not accepted") : own,
      );
      if (verdict === no && run.ended) return no;
    }
    return verdict;
  };
}

export function prefixItems(given: readonly unknown[], compile: Compile): Check {
  const checks = given.map(compile);
  return (value, run) => {
    if (!Array.isArray(value)) return yes;
    let verdict: Verdict = yes;
    for (const [index, check] of checks.entries()) {
      if (index >= value.length) break;
      verdict = lower(verdict, run.at(index, check, value[index]));
      if (verdict === no && run.ended) return no;
    }
    return verdict;
  };
}

export function itemsAfterPrefix(given: unknown, compile: Compile, schema: JsonObject): Check {
  const check = compile(given);
  const first = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"].length : 0;
  return (value, run) => {
    if (!Array.isArray(value)) return yes;
    let verdict: Verdict = yes;
    for (let index = first; index < value.length; index += 1) {
      verdict = lower(verdict, run.at(index, check, value[index]));
      if (verdict === no && run.ended) return no;
    }
    return verdict;
  };
}

export function contains(given: unknown, compile: Compile, schema: JsonObject): Check {
  const check = compile(given);
  const { minContains: least = 1, maxContains: most = Number.POSITIVE_INFINITY } = schema as {
    minContains?: number;
    maxContains?: number;
  };
  return (value, run) => {
    if (!Array.isArray(value)) return yes;
    let sure = 0;
    let possible = 0;
    for (const item of value) {
      const verdict = run.silently(check, item);
      if (verdict === yes) sure += 1;
      if (verdict !== no) possible += 1;
    }
    if (possible < least)
      return run.fail("contains", `must contain at least ${counted(least, "fitting item")}`);
    if (sure > most) return run.fail("contains", `must contain at most ${counted(most, "fitting item")}`);
    return sure >= least && possible <= most ? yes : unknown;
  };
}

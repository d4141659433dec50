/** Keywords that put schemas together for the same value. */
import type { JsonObject } from "../outcome.ts";
import {
  type Check,
  type Compile,
  lower,
  no,
  type Run,
  type SchemaProblem,
  unknown,
  type Verdict,
  yes,
} from "./run.ts";
import { article, choices, oneOfThese, valuesTold } from "./value-keywords.ts";

export function allOf(given: readonly unknown[], compile: Compile): Check {
  const checks = given.map(compile);
  return (value, run) => {
    let verdict: Verdict = yes;
    for (const check of checks) {
      verdict = lower(verdict, run.within(check, value));
      if (verdict === no && run.ended) return no;
    }
    return verdict;
  };
}

export function anyOf(given: readonly unknown[], compile: Compile): Check {
  const checks = given.map(compile);
  return (value, run) => {
    let verdict: Verdict = no;
    const complaints: SchemaProblem[][] = [];
    for (const check of checks) {
      const own = run.apart(check, value);
      if (own.verdict === yes) return yes;
      if (own.verdict > verdict) verdict = own.verdict;
      complaints.push(own.problems);
    }
    return verdict === no ? none(run, "anyOf", complaints) : verdict;
  };
}

export function oneOf(given: readonly unknown[], compile: Compile): Check {
  const checks = given.map(compile);
  return (value, run) => {
    let sure = 0;
    let unsure = 0;
    const complaints: SchemaProblem[][] = [];
    for (const check of checks) {
      const own = run.apart(check, value);
      if (own.verdict === yes) sure += 1;
      if (own.verdict === unknown) unsure += 1;
      if (sure > 1) return run.fail("oneOf", "fits more than one of the forms of which it must have one");
      complaints.push(own.problems);
    }
    if (sure + unsure === 0) return none(run, "oneOf", complaints);
    return unsure > 0 ? unknown : yes;
  };
}

/** Of several forms a value has none: what it could be, where that is one list, or what the nearest form misses. */
function none(run: Run, keyword: string, complaints: readonly SchemaProblem[][]): typeof no {
  if (run.ended) return no;
  const here = run.pointer();
  const only = complaints.flatMap((problems) => (problems.length === 1 ? problems : []));
  const whole =
    only.length === complaints.length && only.every(({ path, expected }) => path === here && expected);
  const expected = [...new Set(only.flatMap((problem) => problem.expected ?? []))];
  if (whole && only.every((problem) => problem.keyword === "type"))
    return run.fail("type", `must be ${choices(expected.map(article))}`, expected);
  if (whole && only.every((problem) => problem.keyword !== "type"))
    return run.fail(
      "enum",
      oneOfThese(expected.slice(0, valuesTold), expected.length > valuesTold),
      expected,
    );
  const isOfKind = (problems: readonly SchemaProblem[]) =>
    problems.length > 0 && !problems.some((problem) => problem.path === here && problem.keyword === "type");
  const near = complaints.filter(isOfKind).sort((a, b) => a.length - b.length)[0];
  if (near === undefined) return run.fail(keyword, "has none of the forms that are accepted");
  run.say(near);
  return no;
}

export function not(given: unknown, compile: Compile): Check {
  const check = compile(given);
  return (value, run) => {
    const verdict = run.silently(check, value);
    if (verdict === yes) return run.fail("not", "has a form that is not accepted");
    return verdict === no ? yes : unknown;
  };
}

export function conditional(given: unknown, compile: Compile, schema: JsonObject): Check {
  const check = compile(given);
  const then = compile(schema["then"] ?? true);
  const otherwise = compile(schema["else"] ?? true);
  return (value, run) => {
    const verdict = run.silently(check, value);
    if (verdict === yes) return run.within(then, value);
    if (verdict === no) return run.within(otherwise, value);
    const [one, other] = [run.silently(then, value), run.silently(otherwise, value)];
    if (one === no && other === no) return run.within(then, value);
    return one === yes && other === yes ? yes : unknown;
  };
}

import type { OutputUnit } from "@cfworker/json-schema";
import { type ArgumentProblem, pointerPart } from "@tendon/protocol";
import { TendonError } from "../errors.ts";

/** Keywords that only say that something below them is wrong. */
const containers = new Set([
  "properties",
  "items",
  "additionalProperties",
  "allOf",
  "anyOf",
  "oneOf",
  "$ref",
]);

const toldAtMost = 20;

/** Fails with what is wrong with the arguments, if anything is; `hint` is what may help, for the end of the sentence. */
export function refuseArguments(problems: readonly ArgumentProblem[], hint = ""): void {
  const [first] = problems;
  if (first === undefined) return;
  const detail = `${first.path === "" ? "the arguments" : first.path} ${first.message}`;
  const errors = problems.slice(0, toldAtMost).map(({ path, message }) => ({ path, message }));
  throw new TendonError("arguments_invalid", `${detail}${hint}`, { errors });
}

/** The validator's findings as people read them: one per place, the innermost, as JSON pointers. */
export function readProblems(errors: readonly OutputUnit[]): ArgumentProblem[] {
  const telling = errors.filter((error) => !containers.has(error.keyword));
  const problems = (telling.length > 0 ? telling : errors).map(readProblem);
  return [...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()];
}

function readProblem(error: OutputUnit): ArgumentProblem {
  const path = decodeURI(error.instanceLocation.replace(/^#/, ""));
  const missing = error.keyword === "required" ? /"(.+)"/.exec(error.error)?.[1] : undefined;
  if (missing !== undefined) return { path: `${path}/${pointerPart(missing)}`, message: "is required" };
  return { path, message: wording(error) };
}

function wording(error: OutputUnit): string {
  const expected = /Expected "(.+?)"/.exec(error.error)?.[1];
  if (error.keyword === "type" && expected !== undefined) return `must be ${article(expected)}`;
  const limit = /-?\d+(\.\d+)?\.?$/.exec(error.error)?.[0].replace(/\.$/, "");
  if (error.keyword === "minimum" && limit !== undefined) return `must be at least ${limit}`;
  if (error.keyword === "maximum" && limit !== undefined) return `must be at most ${limit}`;
  return `does not fit: ${error.error}`;
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/**
 * Checks values against a device's schema [MCP-9], [MCP-14]. The schema is untrusted: the library gets a copy without
 * expressions and without references that it could not resolve, and runs only where its work is bounded. Used by the
 * gateway before a call is sent, and by the console's forms.
 */
import { dereference, format, validate } from "@cfworker/json-schema";
import { limits } from "../limits.ts";
import type { JsonObject } from "../outcome.ts";
import { formats } from "./formats.ts";
import { prepareSchema } from "./prepared.ts";
import { Explanation, type SchemaProblem } from "./words.ts";
import { Work } from "./work.ts";

// The library's own checks are regular expressions, one of them exponential: 60 letters stop the process.
for (const name of Object.keys(format)) delete format[name];
for (const [name, own] of formats) format[name] = own.fits;

/** Up to here the library looks for every problem; above it, only until it is sure that there is one. */
const mostWorkForWords = limits.argumentCheckSteps.max / 10;

const fits: readonly SchemaProblem[] = [];
const tooComplex: readonly SchemaProblem[] = [
  { path: "", keyword: "steps", message: "are too complex to check" },
];
const noWords: readonly SchemaProblem[] = [{ path: "", keyword: "schema", message: "do not fit the schema" }];

export class SchemaValidator {
  readonly #schema: JsonObject;
  readonly #lookup: ReturnType<typeof dereference>;
  readonly #work: Work;

  /** `root` is what references start from, where the schema is a part of another. */
  constructor(schema: JsonObject, root: JsonObject = schema) {
    this.#schema = prepareSchema(schema, root);
    this.#lookup = dereference(this.#schema);
    this.#work = new Work(this.#schema);
  }

  /** What is wrong with a value of JSON; nothing for one that fits, as far as the schema is evaluated. */
  problems(value: unknown): readonly SchemaProblem[] {
    const work = this.#work.of(value, limits.argumentCheckSteps.max);
    if (work === Number.POSITIVE_INFINITY) return tooComplex;
    try {
      const stopEarly = work > mostWorkForWords;
      const { valid, errors } = validate(value, this.#schema, "2020-12", this.#lookup, stopEarly);
      if (valid) return fits;
      const told = new Explanation(this.#schema, value).of(errors);
      return told.length === 0 ? noWords : told;
    } catch (error) {
      // The library throws at names that are not Unicode, and at the end of the stack.
      return error instanceof RangeError ? tooComplex : noWords;
    }
  }
}

/**
 * Validates values against a device's schema [MCP-9], [MCP-14]. The schema is untrusted, so the library gets a copy
 * without regular expressions and unresolvable references, and runs only if its work is bounded. The gateway uses it
 * before it sends a call, and the console uses it in forms.
 */
import { dereference, format, validate } from "@cfworker/json-schema";
import { limits } from "../limits.ts";
import type { JsonObject } from "../outcome.ts";
import { formats } from "./formats.ts";
import { prepareSchema } from "./prepared.ts";
import { Explanation, type SchemaProblem } from "./problems.ts";
import { Work } from "./work.ts";

// The library's own format checks are regular expressions. One of them is exponential: 60 letters block the process.
for (const name of Object.keys(format)) delete format[name];
for (const [name, own] of formats) format[name] = own.fits;

/** Up to this much work, the library finds every problem; above it, only the first. */
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

  /** `root` resolves references if the schema is part of another one. */
  constructor(schema: JsonObject, root: JsonObject = schema) {
    this.#schema = prepareSchema(schema, root);
    this.#lookup = dereference(this.#schema);
    this.#work = new Work(this.#schema);
  }

  /** The problems of a JSON value; empty if it matches the evaluated part of the schema. */
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
      // The library throws for names that are not valid Unicode, and on a stack overflow.
      return error instanceof RangeError ? tooComplex : noWords;
    }
  }
}

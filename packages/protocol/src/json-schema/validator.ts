/**
 * Checks values against a device's schema [MCP-9], [MCP-14]. The schema is untrusted: nothing of it is compiled into
 * code, no expression of it is run, no reference is fetched, and the work is counted. Used by the gateway before a
 * call is sent, and by the console's forms.
 */
import { isObject, type JsonObject } from "../outcome.ts";
import { keywords } from "./keywords.ts";
import { type Check, no, Run, type SchemaProblem, TooComplex, unknown, yes } from "./run.ts";
import { resolveReference } from "./structure.ts";

/** More references in a row, without a step into the value, lead round in a circle. */
const mostReferences = 16;
const fits: readonly SchemaProblem[] = [];

export class SchemaValidator {
  readonly #root: JsonObject;
  readonly #checks = new Map<JsonObject, Check>();
  readonly #check: Check;

  /** `root` is what references start from, where the schema is a part of another. */
  constructor(schema: JsonObject, root: JsonObject = schema) {
    this.#root = root;
    this.#check = this.#compile(schema);
  }

  /** What is wrong with a value; nothing for one that fits, as far as the schema is evaluated. */
  problems(value: unknown): readonly SchemaProblem[] {
    try {
      if (this.#check(value, new Run(undefined)) !== no) return fits;
    } catch (error) {
      if (!(error instanceof TooComplex)) throw error;
      return [{ path: "", keyword: "steps", message: "are too complex to check" }];
    }
    return this.#explain(value);
  }

  /** A second time, because finding words costs more than finding out, and hardly any call needs them. */
  #explain(value: unknown): readonly SchemaProblem[] {
    const found: SchemaProblem[] = [];
    try {
      this.#check(value, new Run(found));
    } catch (error) {
      if (!(error instanceof TooComplex)) throw error;
    }
    if (found.length === 0) return [{ path: "", keyword: "schema", message: "do not fit the schema" }];
    return [...new Map(found.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()];
  }

  #compile(schema: unknown): Check {
    if (schema === false) return (_value, run) => run.fail("false", "is not accepted");
    if (!isObject(schema)) return () => yes;
    const known = this.#checks.get(schema);
    if (known !== undefined) return known;
    const check = this.#compileNode(schema);
    this.#checks.set(schema, check);
    return check;
  }

  #compileNode(schema: JsonObject): Check {
    const compile = (child: unknown) => this.#compile(child);
    const checks = keywords.flatMap(([keyword, make]) => {
      const given = schema[keyword];
      return given === undefined ? [] : [make(given as never, compile, schema)];
    });
    const { $ref: reference } = schema;
    if (typeof reference === "string") checks.push(this.#follow(reference));
    return (value, run) => {
      run.spend(1 + checks.length);
      let verdict: ReturnType<Check> = yes;
      for (const check of checks) {
        const own = check(value, run);
        if (own < verdict) verdict = own;
        if (verdict === no && run.ended) return no;
      }
      return verdict;
    };
  }

  /** Looked up when it is first needed: a schema may refer to itself. */
  #follow(reference: string): Check {
    let target: Check | undefined;
    return (value, run) => {
      target ??= this.#target(reference);
      if (run.references >= mostReferences) return unknown;
      run.references += 1;
      const verdict = run.within(target, value);
      run.references -= 1;
      return verdict;
    };
  }

  #target(reference: string): Check {
    const schema = resolveReference(this.#root, reference);
    return schema === undefined ? () => unknown : this.#compile(schema);
  }
}

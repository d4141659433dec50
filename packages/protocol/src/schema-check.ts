import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";

/** A compiled schema check: returns `undefined` for a valid value, or the first problem. */
export interface Check<Value> {
  fits(value: unknown): value is Value;
  whyNot(value: unknown): string;
}

export function compileCheck<Schema extends TSchema>(schema: Schema): Check<Static<Schema>> {
  const compiled = Compile(schema);
  return {
    fits: (value): value is Static<Schema> => compiled.Check(value),
    whyNot(value) {
      // An unknown property is reported twice, first as a false schema; the second report names it.
      const first = compiled.Errors(value).find(({ keyword }) => keyword !== "boolean");
      if (first === undefined) return "does not fit";
      if (first.keyword === "additionalProperties") {
        const [name = ""] = first.params.additionalProperties;
        return `${first.instancePath}/${name} is not known here`;
      }
      const where = first.instancePath === "" ? "the message" : first.instancePath;
      return `${where} ${first.message}`;
    },
  };
}

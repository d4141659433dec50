import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";

/** A compiled schema that explains itself: `undefined` when the value fits, otherwise the first reason why not. */
export interface Check<Value> {
  fits(value: unknown): value is Value;
  whyNot(value: unknown): string;
}

export function compileCheck<Schema extends TSchema>(schema: Schema): Check<Static<Schema>> {
  const compiled = Compile(schema);
  return {
    fits: (value): value is Static<Schema> => compiled.Check(value),
    whyNot(value) {
      // A member that is not known is reported twice, first as a schema that is false; the other one names it.
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

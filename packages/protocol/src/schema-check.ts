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
      const [first] = compiled.Errors(value);
      if (first === undefined) return "does not fit";
      const where = first.instancePath === "" ? "the message" : first.instancePath;
      return `${where} ${first.message}`;
    },
  };
}

/**
 * Compiles the schemas of a route when it is first used, and each schema once per process. Compiling all of them took
 * more CPU than the rest of the start, and a typical run never calls most routes.
 */
import selectSerializer from "@fastify/fast-json-stringify-compiler";
import type { FastifySchemaCompiler, FastifySerializerCompiler } from "fastify";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { Value } from "typebox/value";

type Serialize = (value: unknown) => string;
type Validator = ReturnType<typeof Compile<TSchema>>;

const buildSerializer = selectSerializer()({}, {});
const serializers = new WeakMap<object, Serialize>();
const validators = new WeakMap<TSchema, Validator>();

export const compileSerializer: FastifySerializerCompiler<object> = ({ schema, ...route }) => {
  let serialize: Serialize | undefined;
  return (value) => {
    serialize ??= compiledOnce(serializers, schema, () =>
      buildSerializer({ schema, ...route, httpStatus: route.httpStatus ?? "default" }),
    );
    return serialize(value);
  };
};

/** Converts strings to numbers and booleans in a query only; a body must have the right types. */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  let validator: Validator | undefined;
  return (value: unknown) => {
    validator ??= compiledOnce(validators, schema, () => Compile(schema));
    const read = httpPart === "querystring" ? Value.Convert(schema, value) : value;
    return validator.Check(read) ? { value: read } : { error: validator.Errors(read) };
  };
};

function compiledOnce<Schema extends object, Compiled>(
  known: WeakMap<Schema, Compiled>,
  schema: Schema,
  compile: () => Compiled,
): Compiled {
  let compiled = known.get(schema);
  if (compiled === undefined) {
    compiled = compile();
    known.set(schema, compiled);
  }
  return compiled;
}

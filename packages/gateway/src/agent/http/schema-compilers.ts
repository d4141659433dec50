/**
 * Compiles the schemas of routes when a route is first used, and each schema once per process. Compiling all of them
 * at every start took more CPU than everything else a start does, and most routes of a run are never called.
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

/** Only a query needs its texts turned into numbers and booleans; a body has to have them. */
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

import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import {
  agentSchema,
  isObject,
  type JsonObject,
  misspeltArguments,
  type ObjectSchema,
  parseJson,
  SchemaValidator,
} from "@tendon/protocol";
import Type, { type Static, type TObject } from "typebox";
import { Compile } from "typebox/compile";
import { TendonError } from "../../../errors.ts";
import type { Asking, CallEnd } from "../asking.ts";

/** One of the tools that are always there, whatever devices are. */
export interface CompactTool {
  readonly definition: Tool;
  /** Of its arguments, for APIs that take fewer keywords than MCP's clients [AGT-9]. */
  readonly plainSchema: ObjectSchema;
  run(asking: Asking, args: unknown): Promise<CallEnd> | CallToolResult;
}

interface Words<Schema extends TObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** It looks and changes nothing. */
  readonly readOnly: boolean;
  readonly input: Schema;
}

export function compactTool<Schema extends TObject>(
  { name, title, description, readOnly, input }: Words<Schema>,
  run: (asking: Asking, args: Static<Schema>) => Promise<CallEnd> | CallToolResult,
): CompactTool {
  const compiled = Compile(input);
  const takesArguments = "arguments" in input.properties;
  const schema = JSON.parse(JSON.stringify(input)) as ObjectSchema;
  const inWords = new SchemaValidator(schema);
  const plainSchema = agentSchema(schema);
  return {
    plainSchema,
    definition: {
      name,
      title,
      description,
      inputSchema: withOpenArguments(plainSchema),
      annotations: {
        readOnlyHint: readOnly,
        destructiveHint: !readOnly,
        idempotentHint: readOnly,
        openWorldHint: !readOnly,
      },
    },
    run(asking, given) {
      const args = takesArguments ? withArgumentsRead(given) : given;
      if (compiled.Check(args)) return run(asking, args);
      const problems = inWords.problems(args).map(({ path, message }) => ({ path, message }));
      const [first = { path: "", message: "do not fit" }] = problems;
      const hint = misspeltArguments(isObject(args) ? Object.keys(args) : [], Object.keys(input.properties));
      const detail = `${first.path || "the arguments"} ${first.message}${hint}`;
      throw new TendonError("arguments_invalid", detail, { errors: problems });
    },
  };
}

/** Some clients read an object without properties as one that takes none; `arguments` says that it takes any. */
function withOpenArguments(schema: ObjectSchema): Tool["inputSchema"] {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const { arguments: free } = properties;
  const open = isObject(free) ? { arguments: { ...free, additionalProperties: true } } : {};
  return { ...schema, properties: { ...properties, ...open } } as Tool["inputSchema"];
}

/** [SRV-15] Models often write an object inside another as text. */
function withArgumentsRead(given: unknown): unknown {
  if (!isObject(given) || typeof given["arguments"] !== "string") return given;
  return { ...given, arguments: readArguments(given["arguments"]) };
}

/** The arguments of a call from their JSON text; some models write nothing at all where there is nothing to say. */
export function readArguments(text: string): JsonObject {
  const read = text.trim() === "" ? {} : parseJson(text);
  if (isObject(read)) return read;
  const message = "is a text, and not that of a JSON object";
  throw new TendonError("arguments_invalid", `/arguments ${message}`, {
    errors: [{ path: "/arguments", message }],
  });
}

/** An answer both as text, which every client shows to its model, and as data. */
export function answer(value: JsonObject): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
}

const strict = { additionalProperties: false };

export function inputOf<Properties extends Record<string, Type.TSchema>>(properties: Properties) {
  return Type.Object(properties, strict);
}

export const Device = Type.String({ minLength: 1, maxLength: 64, description: "A device's alias or id" });

export const Arguments = Type.Optional(
  Type.Unsafe<JsonObject>({ type: "object", description: "The tool's arguments, as its inputSchema says" }),
);

export const TimeoutMs = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 300_000, description: "How long to wait for the answer" }),
);

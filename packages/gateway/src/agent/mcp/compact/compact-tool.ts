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
import type { CallEnd, ToolRequest } from "../tool-request.ts";

/** A tool that every agent gets, independent of devices. */
export interface CompactTool {
  readonly definition: Tool;
  /** The schema of its arguments, for APIs that support fewer keywords than MCP clients [AGT-9]. */
  readonly plainSchema: ObjectSchema;
  run(request: ToolRequest, args: unknown): Promise<CallEnd> | CallToolResult;
}

interface ToolTexts<Schema extends TObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly readOnly: boolean;
  /** Whether a call may become a task. */
  readonly mayTakeLong?: boolean;
  readonly input: Schema;
}

/** For clients of the older form of tasks; the newer one needs no declaration. */
export const optionalTask = { taskSupport: "optional" as const };

export function compactTool<Schema extends TObject>(
  { name, title, description, readOnly, mayTakeLong = false, input }: ToolTexts<Schema>,
  run: (request: ToolRequest, args: Static<Schema>) => Promise<CallEnd> | CallToolResult,
): CompactTool {
  const compiled = Compile(input);
  const takesArguments = "arguments" in input.properties;
  const schema = JSON.parse(JSON.stringify(input)) as ObjectSchema;
  const validator = new SchemaValidator(schema);
  const plainSchema = agentSchema(schema);
  return {
    plainSchema,
    definition: {
      name,
      title,
      description,
      inputSchema: withOpenArguments(plainSchema),
      ...(mayTakeLong ? { execution: optionalTask } : {}),
      annotations: {
        readOnlyHint: readOnly,
        destructiveHint: !readOnly,
        idempotentHint: readOnly,
        openWorldHint: !readOnly,
      },
    },
    run(request, given) {
      const args = takesArguments ? withArgumentsRead(given) : given;
      if (compiled.Check(args)) return run(request, args);
      const problems = validator.problems(args).map(({ path, message }) => ({ path, message }));
      const [first = { path: "", message: "do not match the schema" }] = problems;
      const hint = misspeltArguments(isObject(args) ? Object.keys(args) : [], Object.keys(input.properties));
      const detail = `${first.path || "the arguments"} ${first.message}${hint}`;
      throw new TendonError("arguments_invalid", detail, { errors: problems });
    },
  };
}

/** Some clients read an object schema without properties as one that takes none, so `arguments` allows any explicitly. */
function withOpenArguments(schema: ObjectSchema): Tool["inputSchema"] {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const { arguments: free } = properties;
  const open = isObject(free) ? { arguments: { ...free, additionalProperties: true } } : {};
  return { ...schema, properties: { ...properties, ...open } } as Tool["inputSchema"];
}

/** [SRV-15] Models often pass a nested object as a JSON string. */
function withArgumentsRead(given: unknown): unknown {
  if (!isObject(given) || typeof given["arguments"] !== "string") return given;
  return { ...given, arguments: readArguments(given["arguments"]) };
}

/** Parses arguments from JSON text; some models send an empty string for no arguments. */
export function readArguments(text: string): JsonObject {
  const read = text.trim() === "" ? {} : parseJson(text);
  if (isObject(read)) return read;
  const message = "must be an object, or a string with a JSON object";
  throw new TendonError("arguments_invalid", `/arguments ${message}`, {
    errors: [{ path: "/arguments", message }],
  });
}

/** A result as text, which every client shows to its model, and as structured content. */
export function answer(value: JsonObject): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
}

const strict = { additionalProperties: false };

export function inputOf<Properties extends Record<string, Type.TSchema>>(properties: Properties) {
  return Type.Object(properties, strict);
}

export const Device = Type.String({ minLength: 1, maxLength: 64, description: "A device's alias or id" });

export const Arguments = Type.Optional(
  Type.Unsafe<JsonObject>({ type: "object", description: "The tool's arguments, by its inputSchema" }),
);

export const TimeoutMs = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 300_000, description: "How long to wait for the result" }),
);

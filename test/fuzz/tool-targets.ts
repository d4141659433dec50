/** What a device says about its tools, what callers send to them, and what they return. */
import { isDeepStrictEqual } from "node:util";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import {
  Actions,
  agentSchema,
  callerSchema,
  cleanAnswer,
  cleanLine,
  cleanText,
  decodeControl,
  defaultActions,
  exposedName,
  firmwareHazards,
  inlineReferences,
  isObject,
  type JsonObject,
  limits,
  normaliseResult,
  parseJson,
  programHazards,
  readArguments,
  repairTool,
  SchemaValidator,
  schemasIn,
  toolAnnotations,
  toolTitle,
  withoutExpressions,
} from "@tendon/protocol";
import fc from "fast-check";
import { seeds } from "./seeds.ts";
import { must, type Target } from "./target.ts";

/** Text direction marks and controls; a joiner may stay where letters or emoji need it. */
const hidden =
  /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e0fff}]/u;
const hiddenInAnswer = new RegExp(String.raw`(?![\t\n\r])${hidden.source}`, "u");
const jsonText = fc.json({ maxDepth: 6 }).map((text) => Buffer.from(text));

const cleanTexts: Target = {
  name: "clean-text",
  seeds: [...seeds.texts, ...seeds.results.slice(0, 20)],
  maxBytes: limits.deviceFrameBytes.max,
  arbitrary: fc.string({ unit: "binary", maxLength: 300 }).map((text) => Buffer.from(text)),
  run(input) {
    const text = input.toString();
    const answer = cleanAnswer(text);
    must(!hiddenInAnswer.test(answer), "a clean answer has no hidden characters");
    must(cleanAnswer(answer) === answer, "a clean answer stays as it is");
    const short = text.slice(0, limits.toolSchemaBytes.max);
    const shown = cleanText(short, 500);
    must(!hidden.test(shown.replaceAll("\n", "")), "a clean text has no hidden characters");
    must(shown.length <= 500, "a clean text has a bounded length");
    const line = cleanLine(short, 60);
    must(!hidden.test(line) && line.length <= 60, "a clean line is one short line");
    return answer === text ? "unchanged" : "cleaned";
  },
};

function checkTexts(value: unknown): void {
  if (typeof value === "string")
    must(!hiddenInAnswer.test(value), "a text of a result has no hidden characters");
  else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      must(!hiddenInAnswer.test(key), "a name in a result has no hidden characters");
      checkTexts(item);
    }
  }
}

const toolResult: Target = {
  name: "tool-result",
  seeds: seeds.results,
  maxBytes: limits.deviceFrameBytes.max,
  arbitrary: fc.oneof(
    jsonText,
    fc
      .array(
        fc.record(
          {
            type: fc.constantFrom("text", "image", "audio", "resource", "resource_link", "x"),
            text: fc.string({ unit: "binary" }),
            data: fc.base64String(),
            mimeType: fc.constantFrom("image/png", "audio/wav", "", "text/html", "image/svg+xml;x"),
            resource: fc.jsonValue({ maxDepth: 2 }),
            uri: fc.string(),
            name: fc.string(),
            image: fc.jsonValue({ maxDepth: 2 }),
          },
          { requiredKeys: ["type"] },
        ),
        { maxLength: 4 },
      )
      .map((content) => Buffer.from(JSON.stringify({ content, isError: false }))),
  ),
  run(input) {
    const raw = parseJson(input.toString());
    if (raw === undefined) return "invalid";
    const result = normaliseResult(raw);
    must(Array.isArray(result.content), "a result has content");
    if (result.inputRequired === undefined) {
      checkTexts(result.content);
      checkTexts(result.structuredContent);
    }
    const known = ["text", "image", "audio", "resource", "resource_link"];
    must(
      result.content.every(({ type }) => known.includes(type)),
      "a result has known content only",
    );
    must(JSON.stringify(result).length <= 16 * input.length + 1_000, "a result grows little");
    return result.inputRequired === undefined ? (result.isError ? "ok:error" : "ok") : "ok:input";
  },
};

const tool: Target = {
  name: "tool-definition",
  seeds: seeds.tools,
  maxBytes: 4 * limits.toolSchemaBytes.max,
  arbitrary: fc
    .record({ name: fc.string(), description: fc.string({ unit: "binary" }), inputSchema: fc.jsonValue() })
    .map((value) => Buffer.from(JSON.stringify(value))),
  run(input) {
    const raw = parseJson(input.toString());
    if (raw === undefined) return "invalid";
    const repaired = repairTool(raw, false);
    if (!repaired.ok) {
      must(repaired.setAside.reason !== "", "a tool is set aside with a reason");
      must(!hidden.test(repaired.setAside.name), "a name has no hidden characters");
      return `set aside:${repaired.setAside.reason.slice(0, 30)}`;
    }
    const { tool: definition } = repaired;
    must(!hidden.test(definition.description.replaceAll("\n", "")), "a description has no hidden characters");
    const again = repairTool({ name: definition.name, inputSchema: definition.inputSchema }, false);
    must(
      again.ok && isDeepStrictEqual(again.tool.inputSchema, definition.inputSchema),
      "a repaired schema stays as it is",
    );
    must(
      !JSON.stringify(agentSchema(definition.inputSchema)).includes('"$ref":'),
      "no references for agents",
    );
    callerSchema(definition);
    toolTitle(definition.name);
    toolAnnotations(definition);
    exposedName("desk", definition.name);
    return definition.repairs.length === 0 ? "ok" : "repaired";
  },
};

const reference = new AjvJsonSchemaValidator();

/** Keywords that both validators evaluate in the same way. */
const shared = new Set([
  ...["type", "properties", "required", "items", "enum", "const", "anyOf", "allOf", "prefixItems", "not"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems"],
  ...["maxItems", "minProperties", "maxProperties", "additionalProperties", "propertyNames", "oneOf"],
  ...["title", "description", "default", "examples"],
]);

function isShared(schema: unknown): boolean {
  if (!isObject(schema)) return true;
  return Object.keys(schema).every((keyword) => shared.has(keyword)) && schemasIn(schema).every(isShared);
}

let checks = 0;

const schemaPair = {
  schema: fc.record(
    {
      type: fc.constant("object"),
      properties: fc.dictionary(
        fc.constantFrom("a", "b", "__proto__", "volume"),
        fc.record(
          {
            type: fc.constantFrom("string", "integer", "number", "boolean", "array", "object", "null"),
            minimum: fc.integer(),
            maxLength: fc.nat(20),
            enum: fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 3 }),
            items: fc.record({ type: fc.constantFrom("string", "integer") }),
            pattern: fc.constantFrom("^(a+)+$", "^[a-z]*$", "("),
          },
          { requiredKeys: [] },
        ),
        { maxKeys: 3 },
      ),
      required: fc.subarray(["a", "b", "volume", "toString"]),
      additionalProperties: fc.boolean(),
    },
    { requiredKeys: ["type", "properties"] },
  ),
  arguments: fc.dictionary(fc.constantFrom("a", "b", "c", "volume"), fc.jsonValue({ maxDepth: 2 })),
};

const schemaArguments: Target = {
  name: "schema-arguments",
  seeds: seeds.schemas.flatMap((schema) =>
    [{}, { volume: 50 }, { url: "http://x/", quality: 80 }, { theme: "dark", question: "?" }].map((args) =>
      Buffer.from(`{"schema":${schema},"arguments":${JSON.stringify(args)}}`),
    ),
  ),
  maxBytes: 128 * 1024,
  arbitrary: fc.record(schemaPair).map((pair) => Buffer.from(JSON.stringify(pair))),
  run(input) {
    const pair = parseJson(input.toString());
    if (!isObject(pair)) return "invalid";
    const { schema, arguments: args } = pair;
    const repaired = repairTool({ name: "t", inputSchema: schema }, false);
    if (!repaired.ok) return "set aside";
    const { inputSchema } = repaired.tool;
    firmwareHazards(args);
    programHazards(args);
    const problems = new SchemaValidator(inputSchema).problems(args);
    for (const { message } of problems) must(message !== "", "a problem has a message");
    if (problems.length > 0) return `refused:${problems[0]?.keyword}`;
    for (const published of [inlineReferences(inputSchema), withoutExpressions(inputSchema)]) {
      must(new SchemaValidator(published).problems(args).length === 0, "a published schema accepts as much");
    }
    checks += 1;
    // The reference compiles each schema to code, which takes milliseconds.
    if (checks % 50 === 0 && isShared(inputSchema)) agreesWithReference(inputSchema, args);
    return "ok";
  },
};

function agreesWithReference(schema: JsonObject, args: unknown): void {
  let judge: ReturnType<AjvJsonSchemaValidator["getValidator"]>;
  try {
    judge = reference.getValidator(schema);
  } catch {
    // A schema that the reference cannot compile says nothing about arguments.
    return;
  }
  must(judge(args).valid, "arguments that the gateway accepts are valid for the official client's validator");
}

const actions = Actions.of(defaultActions);

const control: Target = {
  name: "control-message",
  seeds: [
    { type: "device_control", action: "set_volume", volume: 30, request_id: "r1" },
    { command: "volume_up", step: 10, request_id: 7, session_id: "s", device: "desk", timeoutMs: 5_000 },
    { function_call: { name: "self_mute", arguments: { value: 1 } } },
    { action: "get_volume", arguments: { volume: 3 }, timestamp: 1 },
  ].map((message) => Buffer.from(JSON.stringify(message))),
  maxBytes: 64 * 1024,
  arbitrary: jsonText,
  run(input) {
    const value = parseJson(input.toString());
    if (value === undefined) return "invalid";
    const decoded = decodeControl(value);
    if (decoded.outcome !== "ok")
      return `invalid:${decoded.outcome === "invalid" ? decoded.reason.slice(0, 40) : ""}`;
    const { message } = decoded;
    const name = message.action ?? message.command;
    const action =
      name === undefined ? actions.byFunction(message.function_call?.name ?? "") : actions.byName(name);
    if (action === undefined) return "ok:unknown action";
    const read = readArguments(action, { ...message.arguments, ...message });
    if (!read.ok) {
      must(read.problems.length > 0, "refused arguments have problems");
      return "refused";
    }
    for (const [argument, { type }] of Object.entries(action.arguments)) {
      const given = read.arguments[argument];
      must(given === undefined || type !== "integer" || Number.isInteger(given), "an integer is an integer");
    }
    return "ok";
  },
};

export const toolTargets: readonly Target[] = [cleanTexts, toolResult, tool, schemaArguments, control];

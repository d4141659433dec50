import { ToolFailure } from "../errors.ts";
import { checkedProperties } from "../tool-checks.ts";
import { type ByteText, fromText, toText, wire } from "./byte-text.ts";
import { type CjsonNode, member, toInt32 } from "./cjson-parse.ts";
import { type JsonMembers, type JsonValue, printJson, quote } from "./cjson-print.ts";

interface BooleanProperty {
  readonly type: "boolean";
  readonly default?: boolean;
}

interface IntegerProperty {
  readonly type: "integer";
  readonly default?: number;
  /** The firmware supports only ranges with both ends. */
  readonly minimum?: number;
  readonly maximum?: number;
}

interface StringProperty {
  readonly type: "string";
  readonly default?: string;
}

export type ToolProperty = BooleanProperty | IntegerProperty | StringProperty;
/**
 * Ordered: the first property that fails its check decides the error. Numeric names keep their order only in a Map,
 * because JavaScript objects sort them to the front.
 */
export type ToolProperties = Readonly<Record<string, ToolProperty>> | ReadonlyMap<string, ToolProperty>;

type ValueOf<P extends ToolProperty> = P["type"] extends "boolean"
  ? boolean
  : P["type"] extends "integer"
    ? number
    : string;
/** Bytes of a string that are not UTF-8 arrive as lone surrogates U+DC80 to U+DCFF, and leave as the same bytes. */
type ToolArguments<P extends ToolProperties> =
  P extends ReadonlyMap<string, ToolProperty>
    ? BoundArguments
    : { readonly [K in keyof P]: P[K] extends ToolProperty ? ValueOf<P[K]> : never };

const imageMark = Symbol.for("tendon.tool-image");

/**
 * An image that a tool returns instead of text. `instanceof` looks for a mark: a tools file imports this class from the
 * package, while the `tendon` command contains a copy of its own.
 */
export class ToolImage {
  readonly [imageMark] = true;
  readonly mimeType: string;
  readonly data: Uint8Array;

  static [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && imageMark in value;
  }

  constructor(mimeType: string, data: Uint8Array) {
    this.mimeType = mimeType;
    this.data = data;
  }
}

/** `undefined` counts as `true`. */
export type ToolReturn =
  | boolean
  | number
  | string
  | JsonMembers
  | readonly JsonValue[]
  | ToolImage
  | undefined;

export interface ToolCall {
  readonly tool: string;
  readonly id: number;
  /** The value of a property; fails as the firmware does when the tool has no such property. */
  property(name: string): boolean | number | string;
}

// biome-ignore lint/suspicious/noConfusingVoidType: allows a callback without a return statement
export type ToolResult = ToolReturn | void;
export type ToolCallback<P extends ToolProperties> = (
  args: ToolArguments<P>,
  call: ToolCall,
) => ToolResult | Promise<ToolResult>;

type Value = boolean | number | string;
export type BoundArguments = Readonly<Record<string, Value>>;

/** A tool as the MCP server stores it, without the types of its properties. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly userOnly: boolean;
  readonly properties: ReadonlyMap<string, ToolProperty>;
  run(args: BoundArguments, call: ToolCall): ToolResult | Promise<ToolResult>;
}

export function defineTool<P extends ToolProperties>(
  name: string,
  description: string,
  properties: P,
  callback: ToolCallback<P>,
  userOnly: boolean,
): Tool {
  const declared = checkedProperties({ name, description, properties, callback });
  return {
    name,
    description,
    userOnly,
    properties: declared,
    // Safe: arguments are bound against these properties before a tool runs.
    run: (args, call) => callback(args as ToolArguments<P>, call),
  };
}

/** The definition as tools/list prints it; its length in bytes decides the paging. */
export function printTool(tool: Tool): ByteText {
  const properties = new Map<string, JsonValue>();
  const required: string[] = [];
  for (const [key, property] of tool.properties) {
    properties.set(key, propertySchema(property));
    if (property.default === undefined) required.push(key);
  }
  return printJson({
    name: tool.name,
    description: tool.description,
    inputSchema: { type: "object", properties, ...(required.length > 0 ? { required } : {}) },
    ...(tool.userOnly ? { annotations: { audience: ["user"] } } : {}),
  });
}

function propertySchema(property: ToolProperty): JsonValue {
  const schema: Record<string, JsonValue> = { type: property.type };
  if (property.default !== undefined) schema["default"] = property.default;
  if (property.type === "integer" && property.minimum !== undefined && property.maximum !== undefined) {
    schema["minimum"] = property.minimum;
    schema["maximum"] = property.maximum;
  }
  return schema;
}

export type Binding =
  | { readonly ok: true; readonly args: BoundArguments }
  | { readonly ok: false; readonly message: ByteText };

/** Values of the wrong type count as absent; only a value of the right type out of range is an error. */
export function bindArguments(properties: Tool["properties"], given: CjsonNode | undefined): Binding {
  const args: [string, Value][] = [];
  for (const [key, property] of properties) {
    const value = typedValue(property, member(given, fromText(key)));
    if (value !== undefined) {
      const complaint = rangeComplaint(property, value);
      if (complaint !== undefined) return { ok: false, message: complaint };
      args.push([key, value]);
    } else if (property.default !== undefined) {
      args.push([key, property.default]);
    } else {
      return { ok: false, message: wire`Missing valid argument: ${fromText(key)}` };
    }
  }
  return { ok: true, args: Object.fromEntries(args) };
}

function typedValue(property: ToolProperty, node: CjsonNode | undefined): Value | undefined {
  if (property.type === "integer") return node?.kind === "number" ? toInt32(node.value) : undefined;
  if (property.type === "boolean") return node?.kind === "boolean" ? node.value : undefined;
  return node?.kind === "string" ? toText(node.value) : undefined;
}

function rangeComplaint(property: ToolProperty, value: Value): ByteText | undefined {
  if (property.type !== "integer" || typeof value !== "number") return undefined;
  if (property.minimum !== undefined && value < property.minimum) {
    return wire`Value is below minimum allowed: ${property.minimum}`;
  }
  if (property.maximum !== undefined && value > property.maximum) {
    return wire`Value exceeds maximum allowed: ${property.maximum}`;
  }
  return undefined;
}

export function toolCall(tool: Tool, id: number, args: BoundArguments): ToolCall {
  return {
    tool: tool.name,
    id,
    property(name) {
      const value = Object.hasOwn(args, name) ? args[name] : undefined;
      if (value === undefined) throw new ToolFailure(`Property not found: ${name}`);
      return value;
    },
  };
}

/** The only content item. An image is a JSON text in a non-standard property. */
export function printResult(value: ToolResult): ByteText {
  if (value instanceof ToolImage) {
    const data = Buffer.from(value.data).toString("base64");
    const image = printJson({ type: "image", mimeType: value.mimeType, data });
    return wire`{"content":[{"type":"image","image":${quote(image)}}],"isError":false}`;
  }
  return wire`{"content":[{"type":"text","text":${quote(resultText(value))}}],"isError":false}`;
}

function resultText(value: Exclude<ToolResult, ToolImage>): ByteText {
  if (value === undefined) return fromText("true");
  if (typeof value === "number") return fromText(String(toInt32(value)));
  if (typeof value === "string") return fromText(value);
  return printJson(value);
}

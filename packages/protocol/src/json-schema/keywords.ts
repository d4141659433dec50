/**
 * What each keyword asks of a value. The schema has been repaired: every keyword has a value of its kind. A keyword
 * that is not here says nothing about values, or is published and not evaluated [MCP-14].
 */
import { allOf, anyOf, conditional, not, oneOf } from "./combining-keywords.ts";
import {
  additionalProperties,
  contains,
  itemsAfterPrefix,
  patternProperties,
  prefixItems,
  properties,
  propertyNames,
  required,
} from "./member-keywords.ts";
import { type Keyword, unknown, yes } from "./run.ts";
import {
  choice,
  format,
  isMultiple,
  items,
  members,
  number,
  pass,
  size,
  text,
  type,
  uniqueItems,
} from "./value-keywords.ts";

/** In the order in which problems are told: what kind of value it is first, what is inside it last. */
export const keywords: readonly (readonly [string, Keyword])[] = [
  ["type", type],
  ["const", (value: unknown) => choice("const", [value])],
  ["enum", (values: readonly unknown[]) => choice("enum", values)],
  ["minimum", number("minimum", (value, limit) => value >= limit, "must be at least")],
  ["maximum", number("maximum", (value, limit) => value <= limit, "must be at most")],
  ["exclusiveMinimum", number("exclusiveMinimum", (value, limit) => value > limit, "must be more than")],
  ["exclusiveMaximum", number("exclusiveMaximum", (value, limit) => value < limit, "must be less than")],
  ["multipleOf", number("multipleOf", isMultiple, "must be a multiple of")],
  ["minLength", text("minLength", (length, limit) => length >= limit, "at least")],
  ["maxLength", text("maxLength", (length, limit) => length <= limit, "at most")],
  ["format", format],
  ["pattern", () => (value) => (typeof value === "string" ? unknown : yes)],
  ["minItems", size("minItems", items, (count, limit) => count >= limit, "at least", "item")],
  ["maxItems", size("maxItems", items, (count, limit) => count <= limit, "at most", "item")],
  ["uniqueItems", (unique: boolean) => (unique ? uniqueItems : pass)],
  ["minProperties", size("minProperties", members, (count, limit) => count >= limit, "at least", "member")],
  ["maxProperties", size("maxProperties", members, (count, limit) => count <= limit, "at most", "member")],
  ["required", required],
  ["propertyNames", propertyNames],
  ["properties", properties],
  ["patternProperties", patternProperties],
  ["additionalProperties", additionalProperties],
  ["prefixItems", prefixItems],
  ["items", itemsAfterPrefix],
  ["contains", contains],
  ["allOf", allOf],
  ["anyOf", anyOf],
  ["oneOf", oneOf],
  ["not", not],
  ["if", conditional],
];

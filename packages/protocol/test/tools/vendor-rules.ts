/** What the APIs of three vendors are known to reject in function parameters, as messages with a location. */
import { isObject, type JsonObject } from "@tendon/protocol";

type Complain = (node: JsonObject, at: string) => string[];

/** Every schema inside a schema, with its location. */
function walk(node: unknown, at: string, complain: Complain): string[] {
  if (!isObject(node)) return [`${at} is not a schema`];
  const { properties, items } = node;
  return [
    ...complain(node, at),
    ...(isObject(properties)
      ? Object.entries(properties).flatMap(([name, child]) => walk(child, `${at}/${name}`, complain))
      : []),
    ...(items === undefined ? [] : walk(items, `${at}[]`, complain)),
  ];
}

function topIsPlainObject(schema: JsonObject): string[] {
  const forbidden = ["anyOf", "oneOf", "allOf", "enum", "not", "$ref"].filter((key) => key in schema);
  return [
    ...(schema["type"] === "object" ? [] : ["the top is not an object"]),
    ...forbidden.map((key) => `the top has ${key}`),
  ];
}

function requiredExists({ properties, required }: JsonObject, at: string): string[] {
  if (required === undefined) return [];
  const known = isObject(properties) ? properties : {};
  return (required as string[])
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => `${at} requires ${name}, which it does not have`);
}

function openAi(schema: JsonObject): string[] {
  return [
    ...topIsPlainObject(schema),
    ...walk(schema, "", (node, at) => [
      ...(node["type"] === "array" && node["items"] === undefined ? [`${at} is an array without items`] : []),
      ...(node["type"] === "object" && !isObject(node["properties"]) ? [`${at} has no properties`] : []),
    ]),
  ];
}

function anthropic(schema: JsonObject): string[] {
  return [
    ...topIsPlainObject(schema),
    ...walk(schema, "", ({ properties }, at) =>
      Object.keys(isObject(properties) ? properties : {})
        .filter((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name))
        .map((name) => `${at} has an argument ${JSON.stringify(name)}`),
    ),
  ];
}

const geminiKeys = new Set([
  ...["type", "format", "description", "enum", "properties", "required", "items", "default"],
  ...["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"],
]);
const geminiTypes = new Set(["string", "number", "integer", "boolean", "object", "array"]);

function gemini(schema: JsonObject): string[] {
  return walk(schema, "", (node, at) => {
    const { type, format } = node;
    const values = node["enum"] as unknown[] | undefined;
    return [
      ...(typeof type === "string" && geminiTypes.has(type)
        ? []
        : [`${at} has type ${JSON.stringify(type)}`]),
      ...Object.keys(node)
        .filter((key) => !geminiKeys.has(key))
        .map((key) => `${at} has ${key}`),
      ...(type === "array" && !isObject(node["items"]) ? [`${at} is an array without items`] : []),
      ...(values !== undefined &&
      (type !== "string" || values.some((value) => value === "" || typeof value !== "string"))
        ? [`${at} has an enum that is not of texts`]
        : []),
      ...(format !== undefined && format !== "date-time" ? [`${at} has the format ${String(format)}`] : []),
      ...requiredExists(node, at),
    ];
  });
}

export const vendors = { openAi, anthropic, gemini };

import { isObject, type JsonObject } from "../outcome.ts";
import type { ObjectSchema, ToolDefinition } from "./definition.ts";

/** Uploads a picture of the board's screen to an address. */
const snapshotTool = "self.screen.snapshot";

const urlDescription =
  "The address that the device uploads the screenshot to. If omitted, the gateway receives it and returns it with the result.";

type Described = Pick<ToolDefinition, "name" | "inputSchema">;

/** Whether the tool is the firmware's snapshot tool, which requires an upload address as `url` [CAM-4]. */
export function requiresUploadUrl({ name, inputSchema }: Described): boolean {
  if (name !== snapshotTool) return false;
  const { properties, required } = inputSchema;
  const url = isObject(properties) ? properties["url"] : undefined;
  return isObject(url) && url["type"] === "string" && Array.isArray(required) && required.includes("url");
}

/** The firmware's JSON parser ignores case, so `URL` is an upload address too. */
export function hasUploadUrl(args: JsonObject): boolean {
  return Object.keys(args).some((name) => name.toLowerCase() === "url");
}

const schemas = new WeakMap<ObjectSchema, ObjectSchema>();

/** [CAM-4] The schema for callers. It is the device's own, except that the upload address of a snapshot is optional. */
export function callerSchema(tool: Described): ObjectSchema {
  if (!requiresUploadUrl(tool)) return tool.inputSchema;
  const known = schemas.get(tool.inputSchema);
  if (known !== undefined) return known;
  const schema = withOptionalUrl(tool.inputSchema);
  schemas.set(tool.inputSchema, schema);
  return schema;
}

function withOptionalUrl({ required, ...schema }: ObjectSchema): ObjectSchema {
  const properties = schema["properties"] as JsonObject;
  const others = (required as readonly unknown[]).filter((name) => name !== "url");
  return {
    ...schema,
    properties: { ...properties, url: { description: urlDescription, ...(properties["url"] as JsonObject) } },
    ...(others.length === 0 ? {} : { required: others }),
  };
}

/**
 * [MCP-12] A device's answer to `tools/call`, made into what a standard MCP client accepts: known content kinds
 * only, the firmware's nested image unwrapped, media types that fit the bytes, text that is a JSON object offered as
 * structured content.
 */
import { isObject, type JsonObject, parseJson } from "../outcome.ts";
import { cleanAnswer, cleanValue } from "./clean-text.ts";
import { mediaTypeOf } from "./media-type.ts";

type Content =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | { readonly type: "audio"; readonly data: string; readonly mimeType: string }
  | (JsonObject & { readonly type: "resource" | "resource_link" });

export interface ToolResult {
  readonly content: Content[];
  readonly isError: boolean;
  readonly structuredContent?: JsonObject;
  /** The tool asks for more input before it continues. Only an MCP client can answer. */
  readonly inputRequired?: InputRequired;
}

export interface InputRequired {
  readonly inputRequests: JsonObject;
  /** The tool's state, which is returned with the answers. */
  readonly requestState?: string;
}

export function textResult(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: false };
}

export function normaliseResult(raw: unknown): ToolResult {
  if (isObject(raw) && raw["resultType"] === "input_required") return wantsInput(raw);
  if (!isObject(raw) || !Array.isArray(raw["content"])) return wrapBare(raw);
  const content = raw["content"].map(normaliseContent);
  const structured = isObject(raw["structuredContent"])
    ? cleanObject(raw["structuredContent"])
    : structuredFrom(content);
  const isError = raw["isError"] === true;
  return {
    content: isError && structured === undefined && saysNothing(content) ? [wordlessError] : content,
    isError,
    ...(structured === undefined ? {} : { structuredContent: structured }),
  };
}

const wordlessError: Content = { type: "text", text: "the tool reported an error without a message" };

function saysNothing(content: readonly Content[]): boolean {
  return content.every((item) => item.type === "text" && item.text.trim() === "");
}

function wantsInput(raw: JsonObject): ToolResult {
  const { inputRequests, requestState } = raw;
  return {
    ...textResult("the tool asks for more before it goes on"),
    inputRequired: {
      inputRequests: isObject(inputRequests) ? inputRequests : {},
      ...(typeof requestState === "string" ? { requestState } : {}),
    },
  };
}

/** Some devices answer with a bare value instead of a content list. */
function wrapBare(raw: unknown): ToolResult {
  const clean = cleanValue(raw);
  const text = typeof clean === "string" ? clean : (JSON.stringify(clean) ?? "null");
  const content: Content[] = [{ type: "text", text }];
  const structured = isObject(clean) ? clean : structuredFrom(content);
  return { content, isError: false, ...(structured === undefined ? {} : { structuredContent: structured }) };
}

function structuredFrom(content: readonly Content[]): JsonObject | undefined {
  const [only] = content;
  if (content.length !== 1 || only?.type !== "text" || !only.text.trimStart().startsWith("{"))
    return undefined;
  const parsed = parseJson(only.text);
  return isObject(parsed) ? cleanObject(parsed) : undefined;
}

/** [AGT-7] Texts of devices are untrusted. */
function cleanObject(value: JsonObject): JsonObject {
  // Safe: an object stays an object.
  return cleanValue(value) as JsonObject;
}

function normaliseContent(item: unknown): Content {
  if (isObject(item)) {
    const { type } = item;
    if (type === "text" && typeof item["text"] === "string") return { type, text: cleanAnswer(item["text"]) };
    if (type === "image" || type === "audio") {
      const media = readMedia(type, item) ?? readNestedImage(item);
      if (media !== undefined) return media;
    }
    const resource =
      type === "resource" ? readResource(item) : type === "resource_link" ? readLink(item) : undefined;
    if (resource !== undefined) return resource;
  }
  // A strict client would reject the whole result because of an unknown or malformed item, so it becomes text.
  return { type: "text", text: cleanAnswer(typeof item === "string" ? item : JSON.stringify(item)) };
}

/** The media type by the bytes if their kind is known, because a device's own `mimeType` is often empty or wrong. */
function readMedia(type: "image" | "audio", item: JsonObject): Content | undefined {
  const data = readBase64(item["data"]);
  if (data === undefined) return undefined;
  const mimeType = mediaTypeOf(type, data) ?? statedType(type, item["mimeType"]);
  if (mimeType !== undefined) return { type, data, mimeType };
  const bytes = Math.floor((data.replace(/=+$/, "").length * 3) / 4);
  const stated = "no valid mimeType and bytes of no known format";
  return { type: "text", text: `[${type} of ${bytes} bytes left out: ${stated}]` };
}

function statedType(type: "image" | "audio", stated: unknown): string | undefined {
  return typeof stated === "string" && mediaTypePattern[type].test(stated) ? stated : undefined;
}

const mediaTypePattern = {
  image: /^image\/[a-z0-9][a-z0-9.+-]{0,63}$/i,
  audio: /^audio\/[a-z0-9][a-z0-9.+-]{0,63}(?:;[ -~]{0,128})?$/i,
} as const;

function readBase64(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.replaceAll(/[\t\n\f\r ]/g, "");
  const whole = text.endsWith("=") ? text.length % 4 === 0 : text.length % 4 !== 1;
  return whole && /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? text : undefined;
}

function readResource(item: JsonObject): Content | undefined {
  const { resource } = item;
  if (!isObject(resource) || typeof resource["uri"] !== "string") return undefined;
  const blob = readBase64(resource["blob"]);
  if (typeof resource["text"] !== "string" && blob === undefined) return undefined;
  const body = typeof resource["text"] === "string" ? { text: cleanAnswer(resource["text"]) } : { blob };
  return { type: "resource", resource: { ...texts(resource, "uri", "mimeType"), ...body } };
}

function readLink(item: JsonObject): Content | undefined {
  if (typeof item["uri"] !== "string" || typeof item["name"] !== "string") return undefined;
  return { type: "resource_link", ...texts(item, "uri", "name", "title", "description", "mimeType") };
}

function texts(from: JsonObject, ...keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    keys.flatMap((key) => (typeof from[key] === "string" ? [[key, cleanAnswer(from[key])]] : [])),
  );
}

/** The firmware's images are JSON inside a text inside `image`. */
function readNestedImage(item: JsonObject): Content | undefined {
  const inner = typeof item["image"] === "string" ? parseJson(item["image"]) : item["image"];
  return isObject(inner) ? readMedia("image", inner) : undefined;
}

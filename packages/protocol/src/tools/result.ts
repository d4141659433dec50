/**
 * [MCP-12] A device's answer to `tools/call`, made into what a standard MCP client accepts: known content kinds
 * only, the firmware's nested image unwrapped, text that is a JSON object offered as structured content.
 */
import { isObject, type JsonObject, parseJson } from "../outcome.ts";

export type Content =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | { readonly type: "audio"; readonly data: string; readonly mimeType: string }
  | (JsonObject & { readonly type: "resource" | "resource_link" });

export interface ToolResult {
  readonly content: readonly Content[];
  readonly isError: boolean;
  readonly structuredContent?: JsonObject;
}

export function textResult(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: false };
}

export function normaliseResult(raw: unknown): ToolResult {
  if (!isObject(raw) || !Array.isArray(raw["content"])) return wrapBare(raw);
  const content = raw["content"].map(normaliseContent);
  const structured = isObject(raw["structuredContent"]) ? raw["structuredContent"] : structuredFrom(content);
  return {
    content,
    isError: raw["isError"] === true,
    ...(structured === undefined ? {} : { structuredContent: structured }),
  };
}

/** Some devices answer with a bare value instead of a content list. */
function wrapBare(raw: unknown): ToolResult {
  const text = typeof raw === "string" ? raw : (JSON.stringify(raw) ?? "null");
  const content: Content[] = [{ type: "text", text }];
  const structured = isObject(raw) ? raw : structuredFrom(content);
  return { content, isError: false, ...(structured === undefined ? {} : { structuredContent: structured }) };
}

function structuredFrom(content: readonly Content[]): JsonObject | undefined {
  const [only] = content;
  if (content.length !== 1 || only?.type !== "text" || !only.text.trimStart().startsWith("{"))
    return undefined;
  const parsed = parseJson(only.text);
  return isObject(parsed) ? parsed : undefined;
}

function normaliseContent(item: unknown): Content {
  if (isObject(item)) {
    const { type } = item;
    if (type === "text" && typeof item["text"] === "string") return { type, text: item["text"] };
    if (type === "image" || type === "audio") {
      const media = readMedia(type, item) ?? readNestedImage(item);
      if (media !== undefined) return media;
    }
    if (type === "resource" || type === "resource_link") return { ...item, type };
  }
  // An unknown kind would make a strict client refuse the whole result; as text nothing is lost.
  return { type: "text", text: typeof item === "string" ? item : JSON.stringify(item) };
}

function readMedia(type: "image" | "audio", item: JsonObject): Content | undefined {
  const { data, mimeType } = item;
  return typeof data === "string" && typeof mimeType === "string" ? { type, data, mimeType } : undefined;
}

/** The firmware's images are JSON inside a text inside `image`. */
function readNestedImage(item: JsonObject): Content | undefined {
  const inner = typeof item["image"] === "string" ? parseJson(item["image"]) : item["image"];
  return isObject(inner) ? readMedia("image", inner) : undefined;
}

/** What is published of a tool's answer. */
import { isObject, type ToolResult } from "@tendon/protocol";

export function textOf({ content }: ToolResult): string {
  const first: unknown = content[0];
  return isObject(first) && typeof first["text"] === "string" ? first["text"].trim() : "";
}

export function pictureOf({ content }: ToolResult): Buffer | undefined {
  const parts: readonly unknown[] = content;
  for (const part of parts)
    if (isObject(part) && part["type"] === "image" && typeof part["data"] === "string")
      return Buffer.from(part["data"], "base64");
  return undefined;
}

/** What is published of a tool's answer. */
import { isObject } from "@tendon/protocol";

/** The answer of a tool, or what the store keeps of it. */
export interface Answer {
  readonly content: readonly unknown[];
  readonly isError?: boolean | undefined;
}

export function textOf({ content }: Answer): string {
  const first: unknown = content[0];
  return isObject(first) && typeof first["text"] === "string" ? first["text"].trim() : "";
}

export function pictureOf({ content }: Answer): Buffer | undefined {
  for (const part of content)
    if (isObject(part) && part["type"] === "image" && typeof part["data"] === "string")
      return Buffer.from(part["data"], "base64");
  return undefined;
}

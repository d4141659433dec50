import type { CallToolResult } from "@modelcontextprotocol/server";
import type { CallEnd } from "./tool-request.ts";

const media = new Set(["image", "audio"]);

/**
 * [SRV-13] Some clients show a model only `structuredContent` if a result has it, and the picture is lost. So a result
 * with pictures has none. If the device sent no text, the structured content becomes the text.
 */
export function withVisiblePictures(end: CallEnd): CallEnd {
  if (!isFinished(end) || end.structuredContent === undefined) return end;
  if (!end.content.some(({ type }) => media.has(type))) return end;
  const { structuredContent, content, ...rest } = end;
  if (content.some(({ type }) => type === "text")) return { ...rest, content };
  return { ...rest, content: [{ type: "text", text: JSON.stringify(structuredContent) }, ...content] };
}

function isFinished(end: CallEnd): end is CallToolResult {
  return "content" in end;
}

/**
 * Answers as voice agents can use them [END-4]: they read only the first text of a result, hosted ones accept 8,192 bytes
 * for a whole answer, and one client reads the reason of a failure from `error` only.
 */
import { endpointLimits, isObject, type JsonObject } from "@tendon/protocol";

const mark = "…(cut)";

export function voiceResult(result: JsonObject): JsonObject {
  const content = Array.isArray(result["content"]) ? result["content"].filter(isObject) : [];
  const texts = content.flatMap((block) => textOf(block) ?? []);
  const { structuredContent } = result;
  if (texts.length === 0 && structuredContent !== undefined) texts.push(JSON.stringify(structuredContent));
  const whole = [...texts, ...content.flatMap((block) => sentenceFor(block) ?? [])].join("\n");
  const isError = result["isError"] === true;
  const { max } = endpointLimits.answerBytes;
  // The text of a failure is there twice.
  const text = cutText(whole === "" ? "OK" : whole, isError ? max / 2 : max);
  const plain = { content: [{ type: "text", text }], isError };
  return isError ? { ...plain, error: text } : plain;
}

/** Only the fields that voice agents read. A client that gets an output schema expects structured content. */
export function voiceTools(result: JsonObject): JsonObject {
  const { tools, nextCursor } = result;
  const plain = (Array.isArray(tools) ? tools.filter(isObject) : []).map(
    ({ name, description, inputSchema }) => ({ name, description, inputSchema }),
  );
  return { tools: plain, ...(nextCursor === undefined ? {} : { nextCursor }) };
}

function textOf(block: JsonObject): string | undefined {
  if (block["type"] === "text" && typeof block["text"] === "string") return block["text"];
  const resource = block["type"] === "resource" ? block["resource"] : undefined;
  return isObject(resource) && typeof resource["text"] === "string" ? resource["text"] : undefined;
}

function sentenceFor(block: JsonObject): string | undefined {
  if (block["type"] === "image") return "The answer has a picture, which cannot be shown here.";
  if (block["type"] === "audio") return "The answer has a recording, which cannot be played here.";
  if (block["type"] === "resource_link") return `The answer refers to ${String(block["uri"])}.`;
  return block["type"] === "resource" && textOf(block) === undefined
    ? "The answer has a file, which cannot be shown here."
    : undefined;
}

/** Counts bytes as JSON, because the limit is for the whole message. Never splits a character. */
function cutText(text: string, maxBytes: number): string {
  if (jsonBytes(text) <= maxBytes) return text;
  let bytes = jsonBytes(mark);
  let end = 0;
  for (const character of text) {
    bytes += jsonBytes(character);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return `${text.slice(0, end)}${mark}`;
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

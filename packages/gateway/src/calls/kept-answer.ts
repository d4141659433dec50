/** What the gateway keeps of an answer in memory: texts up to a length, and no pictures. */
import { isObject, type JsonObject, limits } from "@tendon/protocol";

export interface KeptAnswer {
  readonly result: KeptResult;
  /** Approximate, in characters. */
  readonly size: number;
}

interface KeptResult {
  readonly content: readonly JsonObject[];
  readonly isError: boolean;
  readonly structuredContent?: JsonObject;
  /** Some of the answer was too long and is missing. */
  readonly cut: boolean;
}

/** The answer to a call, or to a request with any other method. */
export function keptAnswer(result: unknown): KeptAnswer {
  if (!isObject(result) || !Array.isArray(result["content"])) {
    const text = JSON.stringify(result) ?? "";
    return keptAnswer({ content: [{ type: "text", text }] });
  }
  const { content, isError, structuredContent } = result;
  const most = limits.callTraceAnswer.max;
  let left = most;
  let cut = false;
  const kept = content.flatMap((part): JsonObject[] => {
    const short = shortPart(part, left);
    left = Math.max(0, left - (short === undefined ? 0 : sizeOf(short, most)));
    cut ||= short === undefined || (short["type"] === "text" && short !== part);
    return short === undefined ? [] : [short];
  });
  const structured = isObject(structuredContent) ? structuredContent : undefined;
  const structuredSize = structured === undefined ? 0 : sizeOf(structured, most);
  const fits = structured !== undefined && structuredSize <= left;
  return {
    result: {
      content: kept,
      isError: isError === true,
      ...(fits ? { structuredContent: structured } : {}),
      cut: cut || (structured !== undefined && !fits && kept.length === 0),
    },
    size: most - left + (fits ? structuredSize : 0),
  };
}

/** `undefined` if the part does not fit. A picture keeps its type and its size; the photo itself is in a file. */
function shortPart(part: unknown, left: number): JsonObject | undefined {
  if (!isObject(part)) return undefined;
  const { type, text, data } = part;
  if (type === "text" && typeof text === "string") {
    // A copy, because a slice would keep the whole text in memory.
    return text.length <= left ? part : { type, text: Buffer.from(text.slice(0, left)).toString() };
  }
  if (typeof data === "string") {
    const { data: _omitted, ...rest } = part;
    return sizeOf(rest, left) <= left ? { ...rest, length: data.length } : undefined;
  }
  return sizeOf(part, left) <= left ? part : undefined;
}

/** The approximate size of a JSON value in characters. Stops when it exceeds `most`. */
function sizeOf(value: unknown, most: number): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 8;
  let size = 2;
  for (const key in value) {
    size += key.length + sizeOf((value as JsonObject)[key], most - size);
    if (size > most) break;
  }
  return size;
}

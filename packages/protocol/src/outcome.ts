import { limits } from "./limits.ts";

/**
 * The result of decoding: the message, an unknown kind (counted, never fatal), or the reason why it is invalid. Decoders
 * never throw.
 */
export type Decoded<Message> =
  | { readonly outcome: "ok"; readonly message: Message }
  | { readonly outcome: "unknown"; readonly kind: string }
  | {
      readonly outcome: "invalid";
      readonly reason: string;
      /** The id of the request that the message was meant to answer, if that is clear. */
      readonly replyTo?: number;
    };

export function ok<Message>(message: Message): Decoded<Message> {
  return { outcome: "ok", message };
}

export function unknownKind(kind: string): Decoded<never> {
  return { outcome: "unknown", kind: kind.slice(0, 64) };
}

export function invalid(reason: string, replyTo?: number): Decoded<never> {
  return { outcome: "invalid", reason, ...(replyTo === undefined ? {} : { replyTo }) };
}

export type JsonObject = { readonly [key: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether objects and lists are nested deeper than `levels`. Looks no deeper than that. */
export function nestedDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((item) => nestedDeeperThan(item, levels - 1));
}

const quote = 0x22;
const backslash = 0x5c;
const openingBracket = 0x5b;
const closingBracket = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

/** Whether a JSON text is nested deeper than that. Judged before it is parsed, because parsing costs much more. */
function textNestedDeeperThan(text: string, levels: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === openingBrace || code === openingBracket) {
      depth += 1;
      if (depth > levels) return true;
    } else if (code === closingBrace || code === closingBracket) depth -= 1;
    else if (code === quote) at = endOfString(text, at);
  }
  return false;
}

/** The place of the closing quote, or the end of the text. */
function endOfString(text: string, opening: number): number {
  for (let at = text.indexOf('"', opening + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}

/**
 * JSON.parse without exceptions: `undefined` for text that is not JSON, or that is nested so deeply that writing it again
 * would overflow the stack. JSON itself has no `undefined`.
 */
export function parseJson(text: string): unknown {
  if (textNestedDeeperThan(text, limits.jsonDepth.max)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

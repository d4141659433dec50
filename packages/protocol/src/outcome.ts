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

/** Whether a text has too few brackets to be nested deeper than that. */
function isPlainlyFlat(text: string, levels: number): boolean {
  let opened = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if ((code === openingBrace || code === openingBracket) && ++opened > levels) return false;
  }
  return true;
}

const openingBrace = 0x7b;
const openingBracket = 0x5b;

/**
 * JSON.parse without exceptions: `undefined` for text that is not JSON, or that is nested so deeply that writing it again
 * would overflow the stack. JSON itself has no `undefined`.
 */
export function parseJson(text: string): unknown {
  try {
    const value = JSON.parse(text) as unknown;
    const { max } = limits.jsonDepth;
    return isPlainlyFlat(text, max) || !nestedDeeperThan(value, max) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Cleans a device's texts, which are untrusted [AGT-7]. A model reads characters that a person cannot see, and may take
 * text for the frame of a conversation. Visible words of any language stay unchanged.
 */

// Controls, bidi and other format characters, tags, variation selectors, fillers, private use, halves of pairs.
const invisible = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/gu;
// The same without the characters that lay out a text: tab, line feed, carriage return.
const hiddenInAnswer = new RegExp(String.raw`(?![\t\n\r])${invisible.source}`, "u");
const allHiddenInAnswer = new RegExp(hiddenInAnswer.source, "gu");
const joiners = new Set(["\u200c", "\u200d", "\ufe0e", "\ufe0f"]);
// Emoji, and the scripts whose letters change their form where a joiner stands. A selector counts only behind an emoji.
const joinable =
  /(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f?|[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}])$/u;
const lineEnd = /\r\n?|[\u0085\u2028\u2029]/g;
const chatMarkup =
  /<\s{0,8}\/?\s{0,8}(?:system|assistant|user|human|developer|admin|tool|function|invoke|instruction|important|prompt|context|think|antml)[^<>]*>|<\|[^<>]*?\|>|<<\s{0,8}\/?\s{0,8}sys\s{0,8}>>/giu;
const instructionMark = /\[(\/?\s{0,8}(?:inst|sys|system)\s{0,8})\]/giu;

/** Emoji and some scripts need single joiners between visible characters; a row of them can carry a hidden message. */
function keepJoined(hidden: string, at: number, text: string): string {
  if (!joiners.has(hidden)) return "";
  const before = text.slice(Math.max(0, at - 3), at);
  return joinable.test(before) ? hidden : "";
}

/** Whether `cleanText` would remove something, so that the name or value cannot be shown exactly. */
export function hasInvisible(text: string): boolean {
  return text.search(invisible) !== -1;
}

/** A device's text for display, with its line breaks. */
export function cleanText(text: string, longest: number): string {
  const lines = text
    .replace(lineEnd, "\n")
    .replaceAll("\t", " ")
    .split("\n")
    .map((line) => line.replace(invisible, "").trimEnd());
  const visible = lines
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
  return cut(withoutMarkup(visible), longest);
}

function withoutMarkup(text: string): string {
  return text
    .replace(chatMarkup, (mark) => mark.replaceAll("<", "‹").replaceAll(">", "›"))
    .replace(instructionMark, "($1)");
}

/** A device's answer or error for display: like `cleanText`, with all of its spaces and lines. Most texts are unchanged. */
export function cleanAnswer(text: string): string {
  const visible = hiddenInAnswer.test(text) ? text.replace(allHiddenInAnswer, keepJoined) : text;
  return visible.includes("<") || visible.includes("[") ? withoutMarkup(visible) : visible;
}

/** The same for every text in a JSON value, names of members included. Returns the value itself if nothing changes. */
export function cleanValue(value: unknown): unknown {
  if (typeof value === "string") return cleanAnswer(value);
  if (Array.isArray(value)) {
    const cleaned = value.map(cleanValue);
    return cleaned.some((item, index) => item !== value[index]) ? cleaned : value;
  }
  if (typeof value !== "object" || value === null) return value;
  let changed = false;
  const cleaned = Object.entries(value).map(([key, item]) => {
    const pair = [cleanAnswer(key), cleanValue(item)] as const;
    changed ||= pair[0] !== key || pair[1] !== item;
    return pair;
  });
  return changed ? Object.fromEntries(cleaned) : value;
}

/** A device's text in one line, for names and titles. */
export function cleanLine(text: string, longest: number): string {
  return cut(cleanText(text, text.length).replaceAll(/\s+/g, " ").trim(), longest);
}

/** Truncates without splitting a surrogate pair. */
function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const kept = text.slice(0, Math.max(0, longest - 1)).replace(/\p{Cs}$/u, "");
  return `${kept.trimEnd()}…`;
}

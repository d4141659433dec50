/**
 * Cleans a device's texts, which are untrusted [AGT-7]. A model reads characters that a person cannot see, and may take
 * text for the frame of a conversation. Visible words of any language stay unchanged.
 */

// Controls, bidi and other format characters, tags, variation selectors, fillers, private use, halves of pairs.
const invisible = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/gu;
const lineEnd = /\r\n?|[\u0085\u2028\u2029]/g;
const chatMarkup =
  /<\s{0,8}\/?\s{0,8}(?:system|assistant|user|human|developer|admin|tool|function|invoke|instruction|important|prompt|context|think|antml)[^<>]*>|<\|[^<>]*?\|>|<<\s{0,8}\/?\s{0,8}sys\s{0,8}>>/giu;
const instructionMark = /\[(\/?\s{0,8}(?:inst|sys|system)\s{0,8})\]/giu;

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
    .trim()
    .replace(chatMarkup, (mark) => mark.replaceAll("<", "‹").replaceAll(">", "›"))
    .replace(instructionMark, "($1)");
  return cut(visible, longest);
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

/**
 * Texts of a device are untrusted: what a person cannot see may still be read by a model, and what looks like the
 * frame of a conversation may be taken for it [AGT-7]. Visible words stay as they are, in any language.
 */

// Controls, bidi and other format characters, tags, variation selectors, fillers, private use, halves of pairs.
const invisible = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/gu;
const lineEnd = /\r\n?|[\u0085\u2028\u2029]/g;
const chatMarkup =
  /<\s{0,8}\/?\s{0,8}(?:system|assistant|user|human|developer|admin|tool|function|invoke|instruction|important|prompt|context|think|antml)[^<>]*>|<\|[^<>]*?\|>|<<\s{0,8}\/?\s{0,8}sys\s{0,8}>>/giu;
const instructionMark = /\[(\/?\s{0,8}(?:inst|sys|system)\s{0,8})\]/giu;

/** Whether a text has something that `cleanText` would take out: such a name or value cannot be shown as it is. */
export function hasInvisible(text: string): boolean {
  return text.search(invisible) !== -1;
}

/** A device's text as it may be shown, of several lines where it has them. */
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

/** The same in one line, for names and titles. */
export function cleanLine(text: string, longest: number): string {
  return cut(cleanText(text, text.length).replaceAll(/\s+/g, " ").trim(), longest);
}

/** Never through the middle of a character that takes two places. */
function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const kept = text.slice(0, Math.max(0, longest - 1)).replace(/\p{Cs}$/u, "");
  return `${kept.trimEnd()}…`;
}

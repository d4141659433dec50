/** The guides in the reader's language where a translation exists, and the search in their titles and headings. */
import { entries } from "virtual:guide-index";
import { nameOfGuide } from "./guides.ts";

export const guideGroups = ["guides", "operations", "reference", "inside"] as const;
type GuideGroup = (typeof guideGroups)[number];

export interface ListedGuide {
  /** The last part of its address. */
  readonly name: string;
  readonly path: string;
  readonly language: string;
  readonly group: GuideGroup;
  readonly title: string;
  readonly headings: readonly { readonly slug: string; readonly text: string }[];
}

/** In reading order: each guide once, in this language if it is translated, otherwise in English. */
export function listGuides(code: string): ListedGuide[] {
  const byOriginal = new Map<string, ListedGuide>();
  for (const entry of entries) {
    const [, language = "en"] = /\.(es|vi|zh)\.md$/.exec(entry.path) ?? [];
    const name = nameOfGuide(entry.path);
    if (name === undefined || (language !== "en" && language !== code)) continue;
    const original = entry.path.replace(/\.(es|vi|zh)\.md$/, ".md");
    if (byOriginal.has(original) && language === "en") continue;
    byOriginal.set(original, { ...entry, name, language, group: groupOf(original) });
  }
  return [...byOriginal.values()];
}

function groupOf(path: string): GuideGroup {
  if (path === "docs/architecture.md") return "inside";
  const [, folder] = path.split("/");
  return guideGroups.find((group) => group === folder) ?? "reference";
}

export interface FoundGuide {
  readonly guide: ListedGuide;
  /** The headings that contain a word of the search, at most three. */
  readonly headings: ListedGuide["headings"];
  /** The words around the first match, if only the text has one. */
  readonly excerpt?: string;
}

const maxHeadings = 3;
const excerptBefore = 40;
const excerptLength = 160;

/**
 * Guides with all words in their title, their headings or their text, the best first: words in the title count most.
 * `textOf` gives the text of a guide once it is loaded.
 */
export function searchGuides(
  guides: readonly ListedGuide[],
  query: string,
  textOf: (guide: ListedGuide) => string = () => "",
): FoundGuide[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return guides.map((guide) => ({ guide, headings: [] }));
  const found: (FoundGuide & { readonly rank: number })[] = [];
  for (const guide of guides) {
    const title = guide.title.toLowerCase();
    const headings = guide.headings.filter(({ text }) => includesAny(text.toLowerCase(), words));
    const all = `${title} ${guide.headings.map(({ text }) => text.toLowerCase()).join(" ")}`;
    const text = textOf(guide);
    const lower = text.toLowerCase();
    if (!words.every((word) => all.includes(word) || lower.includes(word))) continue;
    const rank = words.every((word) => title.includes(word)) ? 0 : headings.length > 0 ? 1 : 2;
    const excerpt = rank === 2 ? { excerpt: around(text, lower.indexOf(words[0] ?? "")) } : {};
    found.push({ guide, headings: headings.slice(0, maxHeadings), rank, ...excerpt });
  }
  return found.sort((a, b) => a.rank - b.rank);
}

/** A piece of a guide in one line, without the marks of Markdown. */
function around(text: string, at: number): string {
  const from = Math.max(0, at - excerptBefore);
  const piece = text
    .slice(from, from + excerptLength)
    .replace(from > 0 ? /^\S*\s/ : "", "")
    .replace(/\]\([^)]*\)?|<!--.*?(?:-->|$)/g, "");
  return `${from > 0 ? "… " : ""}${piece
    .replace(/[`*|[\]#<>]+/g, " ")
    .replace(/\s+/g, " ")
    .trim()} …`;
}

function includesAny(text: string, words: readonly string[]): boolean {
  return words.some((word) => text.includes(word));
}

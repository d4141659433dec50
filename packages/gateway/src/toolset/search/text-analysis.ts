/**
 * Turns a text into search terms: words without accents and endings, single characters and pairs for languages without
 * spaces (Chinese, Japanese, Korean), syllables and pairs for Vietnamese, and the concepts of the synonym list. Texts of
 * tools and requests are read alike.
 */
import { synonyms } from "./synonyms.ts";
import {
  asksInVietnamese,
  changesInVietnamese,
  isCommonVietnamese,
  isSyllable,
  phrasesInSyllables,
  type Syllable,
  syllableOf,
  vietnameseWords,
} from "./vietnamese.ts";

/** A text as it is indexed. */
export interface ReadText {
  readonly words: readonly string[];
  /** Names of entries of the synonym list, with the prefix `#`. */
  readonly concepts: readonly string[];
}

export type Language = "en" | "zh" | "es" | "vi";

const pieces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+|[\p{L}\p{N}]+/gu;
const unspaced = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const hump = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu;
const marks = /\p{M}/gu;
const endings = /(?:iendo|ando|ing|ed|[aei]r|[aeo]s|[ae]n|[aeos])$/;
/** Endings are not removed if fewer letters would remain. */
const minStemLength = 4;
/** `turn the light in the kitchen off` contains `turn off`. */
const maxPhraseSpan = 6;

/** Words that occur in every text and only indicate its language. */
const commonWords = {
  en: setOf(
    "the a an of to in is are my your please and it for from at with what who how can could you this bit",
  ),
  es: setOf(
    "el la los las un una de del en que y por para con es esta hay mi tu favor cuanto cuanta como se al",
  ),
};
const commonCharacters = /[的了请把吗呢吧我你在是帮下给]/gu;
const asking =
  /[?？吗呢]|多少|是否|几点|哪|怎么|^\W*(?:is|are|was|what|which|who|when|where|how|whether|did|does|has|have)\b|^\W*(?:qu[eé]|qui[eé]n|cu[aá]n|c[oó]mo|d[oó]nde|hay|est[aá])/iu;
const changing =
  /[调设变]|[大小高低亮暗]一?点|大声|小声|\b(?:loud|quiet|soft|bright|dimm|dark|warm|cool|cold|high|low|fast|slow)er\b|\b(?:set|make|change|adjust|increase|decrease|reduce|raise|lower|turn|switch|up|down|more|less)\b|\b(?:sub[eai]r?|baj[ea]r?|pon|poner|ajust[ea]r?|aument[ea]r?|reduc[eir]+|cambi[ea]r?|m[aá]s|menos)(?![\p{L}])/iu;

export function readText(text: string, language = languageOf(text)): ReadText {
  const { words, phrases: found } = read(text, true, language);
  return {
    words: words.flatMap((each) => each.terms),
    concepts: [...new Set(found.map(({ concept }) => concept))],
  };
}

/**
 * The units of a request. A unit is one meaning: a word, or a concept with all terms that express it. A text that
 * repeats a meaning still matches one unit.
 */
export function readRequest(text: string): string[][] {
  const { words, phrases: found } = read(text, false, languageOf(text));
  const units: Set<string>[] = found.map(({ concept }) => new Set([concept]));
  for (const { terms, at } of words) {
    const meant = found.flatMap((phrase, index) => (phrase.places.includes(at) ? [units[index]] : []));
    for (const term of terms) {
      const within = meant.filter((unit) => unit !== undefined);
      if (within.length === 0) units.push(new Set([term]));
      else for (const unit of within) unit.add(term);
    }
  }
  return unique(units.map((unit) => [...unit]));
}

/** The language of a text, if it can be detected. */
export function languageOf(text: string): Language | undefined {
  if (/\p{Script=Han}/u.test(text)) return "zh";
  const composed = text.normalize("NFC");
  const all = [...composed.matchAll(pieces)].map(([piece]) => withoutAccents(piece));
  const count = (common: ReadonlySet<string>) => all.filter((word) => common.has(word)).length;
  const en = count(commonWords.en);
  const es = count(commonWords.es) + (/[áéíóúñ¿¡]/iu.test(composed) ? 1 : 0);
  if (vietnameseWords(composed, all) > Math.max(en, es)) return "vi";
  return en === es ? undefined : en > es ? "en" : "es";
}

/** Whether the request asks for information, not for an action. */
export function isQuestion(text: string): boolean {
  return languageOf(text) === "vi" ? asksInVietnamese(withoutAccents(text)) : asking.test(text);
}

/** Whether the request asks to change something. */
export function wantsChange(text: string): boolean {
  const changes = languageOf(text) === "vi" ? changesInVietnamese(withoutAccents(text)) : changing.test(text);
  return changes && !isQuestion(text);
}

interface Word {
  readonly terms: readonly string[];
  /** Its position: the number of its piece, or of its character in a language without spaces. */
  readonly at: number;
}

interface Found {
  readonly concept: string;
  readonly places: readonly number[];
}

/** Single characters are indexed, but a request uses them only if they stand alone, because pairs are more specific. */
function read(
  text: string,
  singles: boolean,
  language: Language | undefined,
): { words: Word[]; phrases: Found[] } {
  const words: Word[] = [];
  const found: Found[] = [];
  const line: Piece[] = [];
  const vietnamese = language === "vi";
  let at = 0;
  for (const [piece] of text.normalize("NFC").replace(hump, " ").matchAll(pieces)) {
    if (unspaced.test(piece)) {
      found.push(...phrasesInUnspaced(piece, at));
      words.push(...charactersAndPairs(piece, at, singles));
      at += [...piece].length;
    } else {
      const plain = withoutAccents(piece);
      line.push({ stem: stemOf(plain), syllable: syllableOf(piece), at });
      if (!vietnamese && !isCommon(plain)) words.push({ terms: [stemOf(plain)], at });
      at += 1;
    }
  }
  if (vietnamese) words.push(...syllablesAndPairs(line, singles));
  return { words, phrases: [...found, ...phrasesInLine(line, vietnamese)] };
}

/** A single syllable has many meanings, as a Chinese character has, so a request uses pairs of them too. */
function syllablesAndPairs(line: readonly Piece[], singles: boolean): Word[] {
  const paired = (piece: Piece | undefined) =>
    piece !== undefined && isSyllable(piece.syllable) && !isCommonVietnamese(piece.syllable);
  return line.flatMap(({ stem, syllable, at }, index): Word[] => {
    if (isCommonVietnamese(syllable)) return [];
    if (!isSyllable(syllable)) return [{ terms: [stem], at }];
    const [before, next] = [line[index - 1], line[index + 1]];
    const alone = singles || (!paired(before) && !paired(next)) ? [syllable.plain] : [];
    const pair = next !== undefined && paired(next) ? [`${syllable.plain}_${next.syllable.plain}`] : [];
    const terms = [...alone, ...pair];
    return terms.length === 0 ? [] : [{ terms, at }];
  });
}

function withoutAccents(word: string): string {
  return word.normalize("NFKD").replace(marks, "").toLowerCase().replaceAll("đ", "d");
}

function stemOf(word: string): string {
  const cut = word.replace(endings, "");
  return cut.length >= minStemLength ? cut : word;
}

function isCommon(word: string): boolean {
  return word.length < 2 || commonWords.en.has(word) || commonWords.es.has(word);
}

function charactersAndPairs(piece: string, from: number, singles: boolean): Word[] {
  let at = from;
  return piece.split(commonCharacters).flatMap((part) => {
    const characters = [...part];
    const start = at;
    at += characters.length + 1;
    return characters.flatMap((character, index): Word[] => {
      const next = characters[index + 1];
      const alone = singles || characters.length === 1 ? [character] : [];
      const terms = next === undefined ? alone : [...alone, `${character}${next}`];
      return terms.length === 0 ? [] : [{ terms, at: start + index }];
    });
  });
}

interface Phrase {
  readonly stems: readonly string[];
  readonly concept: string;
  readonly language: "en" | "es";
}

/** A word of a language with spaces. */
interface Piece {
  readonly stem: string;
  readonly syllable: Syllable;
  readonly at: number;
}

/** Phrases by their first word. */
const phrases = new Map<string, Phrase[]>();
const unspacedPhrases: { readonly text: string; readonly concept: string }[] = [];

for (const [name, { en, zh, es }] of Object.entries(synonyms)) {
  const concept = `#${name}`;
  for (const text of zh.split(", ")) unspacedPhrases.push({ text, concept });
  for (const [language, list] of [
    ["en", en],
    ["es", es],
  ] as const) {
    for (const text of list.split(", ")) {
      const stems = text.split(/[\s-]+/).map((word) => stemOf(withoutAccents(word)));
      const [first = ""] = stems;
      phrases.set(first, [...(phrases.get(first) ?? []), { stems, concept, language }]);
    }
  }
}

function phrasesInLine(line: readonly Piece[], vietnamese: boolean): Found[] {
  const own = phrasesInSyllables(
    line.map(({ syllable }) => syllable),
    vietnamese,
  ).map(({ concept, from, length }) => ({
    concept,
    places: line.slice(from, from + length).map(({ at }) => at),
  }));
  const others = line.flatMap(({ stem, syllable }, from) =>
    (phrases.get(stem) ?? []).flatMap(({ stems, concept, language }) => {
      // Vietnamese texts contain English words such as wifi, but no Spanish ones.
      if (vietnamese && (language === "es" || syllable.exact !== syllable.plain)) return [];
      const places = placesOf(stems, line.slice(from, from + maxPhraseSpan));
      return places === undefined ? [] : [{ concept, places }];
    }),
  );
  return [...own, ...others];
}

/** The positions of the words in their order, with other words between them or not. */
function placesOf(
  stems: readonly string[],
  line: readonly Pick<Piece, "stem" | "at">[],
): number[] | undefined {
  const places: number[] = [];
  for (const { stem, at } of line) if (stem === stems[places.length]) places.push(at);
  return places.length === stems.length ? places : undefined;
}

function phrasesInUnspaced(piece: string, from: number): Found[] {
  return unspacedPhrases.flatMap(({ text, concept }) => {
    const start = piece.indexOf(text);
    if (start === -1) return [];
    return [{ concept, places: [...text].map((_, index) => from + start + index) }];
  });
}

function unique(units: readonly string[][]): string[][] {
  return [...new Map(units.map((unit) => [unit.toSorted().join(" "), unit])).values()];
}

function setOf(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

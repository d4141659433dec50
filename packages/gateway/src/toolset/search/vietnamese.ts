/**
 * Vietnamese in requests and descriptions. Words are one syllable or several, with spaces between the syllables. People
 * often type them without accents, so a syllable without any matches one with accents. A syllable with other accents
 * does not: `đèn` is a lamp, `đến` is not.
 */
import { synonyms } from "./synonyms.ts";

export interface Syllable {
  /** Lower case, with the tone mark at its end, because there are two ways to place it: `hòa` and `hoà`. */
  readonly exact: string;
  /** Without accents. */
  readonly plain: string;
}

const ascii = /^\w*$/;
const tones = /[\u0300\u0301\u0303\u0309\u0323]/g;
const marks = /\p{M}/gu;
/** Letters of no other language that is detected here. */
const letters = /[ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịĩọỏốồổỗộớờởỡợụủũứừửữựỳỵỷỹ]/iu;
/** Letters that other languages have too, but not English and Spanish. */
const sharedLetters = /[âêôãõàèìòùý]/iu;

/** Words that occur in every text. */
const common = syllablesOf(
  "của cho tôi giúp hãy ơi đi nhé với và trong cái một này kia được là có không đang bạn mình em anh xin vui lòng ạ ở thì mà để những các ra vào lên xuống hơn quá rồi chưa lại bị đến từ bao nhiêu gì nào sao làm ơn nó hộ giùm rất chút tí thôi lúc",
);
const commonExact = new Set(common.map(({ exact }) => exact));
const commonPlain = new Set(common.map(({ plain }) => plain));
/** Too many words have this form to guess one of them. */
const unclear = new Set([...commonPlain, "am", "do", "on", "to", "bai", "dai"]);
/** Syllables without accents that show that a text is Vietnamese, and are hardly words of English or Spanish. */
const telling = new Set(
  "cua cho toi giup bao oi nhe voi trong cai nay duoc khong dang ban minh xin nhung vao len xuong hon roi chua nhieu nao gium chut phong khach ngu bep nha bat tat den mo dong chinh tang giam doi quat rem loa chup nhac bai nghe nong lanh nhiet luong sang hinh khoa khoi thuc tuoi keo hut bui".split(
    " ",
  ),
);

export function syllableOf(word: string): Syllable {
  if (ascii.test(word)) {
    const plain = word.toLowerCase();
    return { exact: plain, plain };
  }
  const decomposed = word.normalize("NFD").toLowerCase().replaceAll("đ", "d\u0335");
  const tone = decomposed.match(tones)?.join("") ?? "";
  return { exact: decomposed.replace(tones, "") + tone, plain: decomposed.replace(marks, "") };
}

function syllablesOf(text: string): Syllable[] {
  return text.split(" ").map(syllableOf);
}

/** How many words show that the text is Vietnamese; infinite if a letter does. */
export function vietnameseWords(text: string, words: readonly string[]): number {
  if (letters.test(text)) return Number.POSITIVE_INFINITY;
  const one = words.filter((word) => telling.has(word)).length + (sharedLetters.test(text) ? 1 : 0);
  const several = phrasesInSyllables(
    words.map((plain) => ({ exact: plain, plain })),
    false,
  ).filter(({ length }) => length > 1);
  return one + 2 * several.length;
}

const syllable =
  /^(?:ngh|ng|nh|ch|gh|gi|kh|ph|qu|th|tr|[bcdghklmnprstvx])?[aeiouy]{1,3}(?:ch|ng|nh|[cmnpt])?$/;

/** Whether it can be a Vietnamese syllable. `camera` and `wifi` cannot. */
export function isSyllable({ plain }: Syllable): boolean {
  return syllable.test(plain);
}

/** In a text that is Vietnamese. */
export function isCommonVietnamese(syllable: Syllable): boolean {
  return syllable.exact === syllable.plain
    ? commonPlain.has(syllable.plain)
    : commonExact.has(syllable.exact);
}

interface Phrase {
  readonly syllables: readonly Syllable[];
  readonly concept: string;
}

/** Phrases by their first syllable without accents. */
const phrases = new Map<string, Phrase[]>();
for (const [name, { vi }] of Object.entries(synonyms)) {
  for (const text of vi.split(", ")) {
    const syllables = syllablesOf(text);
    const first = syllables[0]?.plain ?? "";
    phrases.set(first, [...(phrases.get(first) ?? []), { syllables, concept: `#${name}` }]);
  }
}

interface FoundPhrase {
  readonly concept: string;
  readonly from: number;
  readonly length: number;
}

/**
 * The phrases in a row of syllables, without those that lie within a longer one: `mở khóa` (unlock) contains neither
 * `mở` (open) nor `khóa` (lock). A single syllable without accents counts only in a Vietnamese text.
 */
export function phrasesInSyllables(row: readonly Syllable[], vietnamese: boolean): FoundPhrase[] {
  const found = row.flatMap(({ plain }, from) =>
    (phrases.get(plain) ?? []).flatMap(({ syllables, concept }) => {
      const there = row.slice(from, from + syllables.length);
      if (there.length < syllables.length || !there.every((one, at) => matches(one, syllables[at])))
        return [];
      if (there.length === 1 && !isCertain(there[0], vietnamese)) return [];
      return [{ concept, from, length: syllables.length }];
    }),
  );
  return found.filter(
    (one) =>
      !found.some(
        (other) =>
          other.length > one.length &&
          other.from <= one.from &&
          other.from + other.length >= one.from + one.length,
      ),
  );
}

function matches(written: Syllable, wanted: Syllable | undefined): boolean {
  if (wanted === undefined) return false;
  return (
    written.exact === wanted.exact || (written.exact === written.plain && written.plain === wanted.plain)
  );
}

function isCertain(syllable: Syllable | undefined, vietnamese: boolean): boolean {
  if (syllable === undefined) return false;
  return syllable.exact !== syllable.plain || (vietnamese && !unclear.has(syllable.plain));
}

const asking =
  /bao nhieu|\bmay (?:do|gio|phan tram)\b|\bo dau\b|\bthe nao\b|\bra sao\b|\bgi\b|\bnao\b(?=\s+\p{L})|\bai\b|\bchua\W*$|\bco\b(?! the).*\bkhong\b|\bhay\b(?=.*\b(?:khong|chua)\W*$)/u;
const politely = /\b(?:co the|duoc khong)\b/;
const changing =
  /\b(?:tang|giam|chinh|dat|doi|van|nang|ha|bat|tat|mo|dong|keo|them|bot|len|xuong)\b|\b(?:to|nho|be|lon|sang|toi|nong|lanh|am|mat|cao|thap|nhanh|cham) (?:hon|lai|di|qua)\b|\bqua (?:to|nho|on|sang|toi|nong|lanh)\b/;

/** For a Vietnamese text without accents. */
export function asksInVietnamese(plain: string): boolean {
  return !politely.test(plain) && (asking.test(plain) || /\bkhong\W*$/.test(plain) || plain.includes("?"));
}

export function changesInVietnamese(plain: string): boolean {
  return changing.test(plain);
}

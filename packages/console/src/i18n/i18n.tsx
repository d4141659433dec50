/** Texts by language. The compiler reports a missing key and a missing value of a placeholder. */
import { createContext, type ReactNode, useContext, useMemo } from "react";
import type { en } from "./en.ts";

export type Key = keyof typeof en;
export type Catalogue = Readonly<Record<Key, string>>;

type Names<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Names<Rest>
  : never;
type Values<K extends Key> = [Names<(typeof en)[K]>] extends [never]
  ? []
  : [values: Readonly<Record<Names<(typeof en)[K]>, string | number>>];

/** Keys with a singular and a plural form: `….one` and `….other`. */
type CountedKey = Key extends infer K ? (K extends `${infer Base}.other` ? Base : never) : never;

export interface Language {
  readonly name: string;
  readonly load: () => Promise<Catalogue>;
}

export const languages = {
  en: { name: "English", load: async () => (await import("./en.ts")).en },
  zh: { name: "中文", load: async () => (await import("./zh.ts")).zh },
  es: { name: "Español", load: async () => (await import("./es.ts")).es },
  vi: { name: "Tiếng Việt", load: async () => (await import("./vi.ts")).vi },
} as const satisfies Record<string, Language>;
export type LanguageCode = keyof typeof languages;

export function isLanguage(code: string): code is LanguageCode {
  return Object.hasOwn(languages, code);
}

/** The user's choice, or the first of the browser's languages that the console has. */
export function preferredLanguage(chosen: string | null, browserLanguages: readonly string[]): LanguageCode {
  const codes = [chosen ?? "", ...browserLanguages.map((tag) => tag.toLowerCase().split("-")[0] ?? "")];
  return codes.find(isLanguage) ?? "en";
}

/** The clock of the browser's settings: 12 or 24 hours, also if the console is in another language. */
interface ClockStyle {
  readonly locale: string;
  readonly hourCycle: "h11" | "h12" | "h23" | "h24" | undefined;
}

function browserClock(code: LanguageCode): ClockStyle {
  const own = typeof navigator === "undefined" ? [] : navigator.languages;
  const { hourCycle } = new Intl.DateTimeFormat(own[0], { hour: "numeric" }).resolvedOptions();
  return { locale: own.find((tag) => tag.split("-")[0] === code) ?? code, hourCycle };
}

export function createI18n(code: LanguageCode, catalogue: Catalogue, style = browserClock(code)) {
  const plural = new Intl.PluralRules(code);
  const fill = (text: string, values: Readonly<Record<string, string | number>> = {}) =>
    text.replace(/\{(\w+)\}/g, (whole, name: string) => {
      const value = values[name];
      return value === undefined ? whole : typeof value === "number" ? number.format(value) : value;
    });
  const number = new Intl.NumberFormat(code);
  // Without an explicit hour cycle the language's own would apply, and times would differ between pages.
  const cycle = style.hourCycle === undefined ? {} : { hourCycle: style.hourCycle };
  const isHalfDay = style.hourCycle === "h11" || style.hourCycle === "h12";
  const minutes = { hour: isHalfDay ? "numeric" : "2-digit", minute: "2-digit", ...cycle } as const;
  const seconds = { ...minutes, second: "2-digit" } as const;
  const monthDay = { month: "short", day: "numeric" } as const;
  const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(style.locale, options);
  const date = format({ year: "numeric", ...monthDay });
  const exact = format({ year: "numeric", ...monthDay, ...seconds });
  const clock = format(seconds);
  const minute = format(minutes);
  const day = format({ ...monthDay, ...minutes });
  const either = new Intl.ListFormat(code, { type: "disjunction" });
  const ago = new Intl.RelativeTimeFormat(code, { numeric: "auto", style: "short" });
  const relative = (ms: number, sign: 1 | -1) => {
    const seconds = Math.round(ms / 1000);
    if (seconds < 60) return ago.format(sign * seconds, "second");
    if (seconds < 3600) return ago.format(sign * Math.round(seconds / 60), "minute");
    // “Tomorrow” would say too little about when something ends.
    if (seconds < (sign === 1 ? 172_800 : 86_400))
      return ago.format(sign * Math.round(seconds / 3600), "hour");
    return ago.format(sign * Math.round(seconds / 86_400), "day");
  };
  return {
    code,
    t: <K extends Key>(key: K, ...[values]: Values<K>) => fill(catalogue[key], values),
    /** The singular or plural form for the number, with the number filled in. */
    n: (key: CountedKey, count: number) => {
      const form = plural.select(count) === "one" ? "one" : "other";
      return fill(catalogue[`${key}.${form}` as Key], { count });
    },
    number: (value: number) => number.format(value),
    /** A list such as “lab or office”. */
    either: (items: readonly string[]) => either.format(items),
    exact: (at: Date) => exact.format(at),
    date: (at: Date) => date.format(at),
    clock: (at: Date) => (isToday(at) ? clock : day).format(at),
    /** A label of a time axis. */
    axisTime: (at: Date, withSeconds: boolean) => (withSeconds ? clock : minute).format(at),
    /** A relative time such as “3 min ago”. */
    ago: (ms: number) => relative(ms, -1),
    /** A relative time such as “in 3 hr.”. */
    ahead: (ms: number) => relative(ms, 1),
    /** A duration with a sensible precision. */
    duration: (ms: number) => {
      if (ms < 10) return `${number.format(Math.round(ms * 10) / 10)} ms`;
      if (ms < 1000) return `${number.format(Math.round(ms))} ms`;
      if (ms < 120_000) return `${number.format(Math.round(ms / 100) / 10)} s`;
      if (ms < 7_200_000) return `${number.format(Math.round(ms / 60_000))} min`;
      return `${number.format(Math.round(ms / 3_600_000))} h`;
    },
  };
}

export type I18n = ReturnType<typeof createI18n>;

function isToday(at: Date): boolean {
  return at.toDateString() === new Date().toDateString();
}

interface Chosen extends I18n {
  readonly choose: (code: LanguageCode) => void;
}

const Context = createContext<Chosen | undefined>(undefined);

export function I18nProvider(props: {
  readonly code: LanguageCode;
  readonly catalogue: Catalogue;
  readonly choose: (code: LanguageCode) => void;
  readonly children: ReactNode;
}) {
  const { code, catalogue, choose, children } = props;
  const value = useMemo(() => ({ ...createI18n(code, catalogue), choose }), [code, catalogue, choose]);
  return <Context value={value}>{children}</Context>;
}

export function useI18n(): Chosen {
  const i18n = useContext(Context);
  if (i18n === undefined) throw new TypeError("useI18n outside of I18nProvider");
  return i18n;
}

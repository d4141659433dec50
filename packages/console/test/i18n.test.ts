import { describe, expect, it } from "vitest";
import {
  type Catalogue,
  createI18n,
  type LanguageCode,
  languages,
  preferredLanguage,
} from "../src/i18n/i18n.tsx";

const codes = Object.keys(languages) as LanguageCode[];

function placeholders(text: string): string[] {
  return [...text.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name).sort();
}

async function english(): Promise<Catalogue> {
  return await languages.en.load();
}

describe.each(codes)("the texts in %s", (code) => {
  it("have every key, with the same placeholders", async () => {
    const own = await languages[code].load();
    const base = await english();
    expect(Object.keys(own).sort()).toEqual(Object.keys(base).sort());
    for (const [key, text] of Object.entries(base)) {
      const translated = own[key as keyof Catalogue];
      expect(translated.trim(), key).not.toBe("");
      expect(placeholders(translated), key).toEqual(placeholders(text));
    }
  });

  it("format numbers and times by the language", async () => {
    const i18n = createI18n(code, await languages[code].load());
    expect(i18n.n("fleet.new", 2)).toContain("2");
    expect(i18n.t("approvals.request", { who: "Ana" })).toContain("Ana");
    for (const ms of [0, 90_000, 7_200_000, 200_000_000]) expect(i18n.ago(ms)).not.toBe("");
    expect(i18n.duration(0.4)).toMatch(/^0[.,]4 ms$/);
    expect(i18n.duration(1500)).toMatch(/^1[.,]5 s$/);
  });
});

describe("times", () => {
  it("have one format, the browser's, in lists and on the axes of charts", async () => {
    const at = new Date(2026, 2, 1, 15, 4, 5);
    const english = await languages.en.load();
    const british = createI18n("en", english, { locale: "en-GB", hourCycle: "h23" });
    expect(british.axisTime(at, true)).toBe("15:04:05");
    expect(british.axisTime(at, false)).toBe("15:04");
    expect(british.exact(at)).toContain("15:04:05");
    expect(british.clock(at)).toContain("15:04");
    const american = createI18n("en", english, { locale: "en-US", hourCycle: "h12" });
    for (const text of [american.axisTime(at, false), american.exact(at), american.clock(at)])
      expect(text).toMatch(/3:04(:05)?\sPM/);
    // Another language in a browser with a 24-hour clock.
    const spanish = createI18n("es", await languages.es.load(), { locale: "es", hourCycle: "h23" });
    expect(spanish.axisTime(at, false)).toBe("15:04");
  });
});

describe("preferredLanguage", () => {
  it("returns the user's choice, or the browser's first known language, or English", () => {
    expect(preferredLanguage(null, ["de-DE", "es-MX", "en"])).toBe("es");
    expect(preferredLanguage("vi", ["es"])).toBe("vi");
    expect(preferredLanguage("xx", ["zh-Hans-CN"])).toBe("zh");
    expect(preferredLanguage(null, ["de"])).toBe("en");
    expect(preferredLanguage("constructor", ["toString"])).toBe("en");
  });
});

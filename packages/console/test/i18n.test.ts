import { describe, expect, it } from "vitest";
import {
  type Catalogue,
  createWords,
  type LanguageCode,
  languages,
  preferredLanguage,
} from "../src/i18n/i18n.tsx";

const codes = Object.keys(languages) as LanguageCode[];

function places(text: string): string[] {
  return [...text.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name).sort();
}

async function english(): Promise<Catalogue> {
  return await languages.en.load();
}

describe.each(codes)("the words in %s", (code) => {
  it("have every sentence, with the same places for values", async () => {
    const own = await languages[code].load();
    const base = await english();
    expect(Object.keys(own).sort()).toEqual(Object.keys(base).sort());
    for (const [key, text] of Object.entries(base)) {
      const said = own[key as keyof Catalogue];
      expect(said.trim(), key).not.toBe("");
      expect(places(said), key).toEqual(places(text));
    }
  });

  it("say numbers and times in their own way", async () => {
    const words = createWords(code, await languages[code].load());
    expect(words.n("fleet.new", 2)).toContain("2");
    expect(words.t("approvals.request", { who: "Ana" })).toContain("Ana");
    for (const ms of [0, 90_000, 7_200_000, 200_000_000]) expect(words.ago(ms)).not.toBe("");
    expect(words.duration(0.4)).toMatch(/^0[.,]4 ms$/);
    expect(words.duration(1500)).toMatch(/^1[.,]5 s$/);
  });
});

describe("the language", () => {
  it("is the person's choice, else the browser's first that is known, else English", () => {
    expect(preferredLanguage(null, ["de-DE", "es-MX", "en"])).toBe("es");
    expect(preferredLanguage("vi", ["es"])).toBe("vi");
    expect(preferredLanguage("xx", ["zh-Hans-CN"])).toBe("zh");
    expect(preferredLanguage(null, ["de"])).toBe("en");
    expect(preferredLanguage("constructor", ["toString"])).toBe("en");
  });
});

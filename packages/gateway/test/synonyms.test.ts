import fs from "node:fs";
import { expect, it } from "vitest";
import { synonyms } from "../src/toolset/search/synonyms.ts";

const page = new URL("../../../docs/guides/search.md", import.meta.url);

it("the list of synonyms is the one in docs/guides/search.md", () => {
  const rows = Object.values(synonyms).map(({ en, zh, es, vi }) => `| ${en} | ${zh} | ${es} | ${vi} |`);
  const shown = fs
    .readFileSync(page, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| English"));
  expect(shown).toEqual(rows);
});

it("each line has words in every language, without duplicates", () => {
  for (const { en, zh, es, vi } of Object.values(synonyms)) {
    for (const list of [en, zh, es, vi]) {
      const words = list.split(", ");
      expect(words.every((word) => word.trim() === word && word !== "")).toBe(true);
      expect(new Set(words).size).toBe(words.length);
    }
  }
});

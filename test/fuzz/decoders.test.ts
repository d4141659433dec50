/** Replays the corpus, and tries a few new inputs with a fixed seed. `npm run fuzz` tries millions. */
import { describe, expect, it } from "vitest";
import { corpusFolders, corpusOf } from "./corpus.ts";
import { fuzz } from "./engine.ts";
import { entryNames } from "./entry/entries.ts";
import { targets } from "./targets.ts";

const inputs = 70;

describe("every decoder", () => {
  it("is named once", () => {
    const names = [...targets.map(({ name }) => name), ...entryNames];
    expect(new Set(names).size).toBe(names.length);
    expect(corpusFolders().filter((folder) => !names.includes(folder))).toEqual([]);
  });

  it.each(targets.map((target) => [target.name, target] as const))(
    "keeps its promises: %s",
    (name, target) => {
      const corpus = corpusOf(name);
      for (const { input } of corpus) expect(target.run(input)).not.toBe("");
      const { failure } = fuzz(
        target,
        corpus.map(({ input }) => input),
        { seed: 1, inputs },
      );
      expect(failure?.reason).toBeUndefined();
    },
  );
});

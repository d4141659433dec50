/** docs/reference/source-documents.md names every section of these documents, with its test or the reason for none. */
import fs from "node:fs";
import { describe, expect, it } from "vitest";
import { sectionsOf } from "./example.ts";

const folder = new URL("./", import.meta.url);
const page = fs.readFileSync(new URL("../../docs/reference/source-documents.md", import.meta.url), "utf8");
const files = fs.readdirSync(folder);
const documents = files
  .filter((file) => file.endsWith(".test.ts"))
  .map((file) => file.slice(0, -".test.ts".length))
  .filter((name) => name !== "page");

interface Row {
  readonly section: string;
  readonly test: string;
}

const rows: readonly Row[] = [...page.matchAll(/^\| (.+?) \| .+ \| (.+?) \|$/gm)]
  .map(([, section = "", test = ""]) => ({ section: section.replaceAll("`", ""), test }))
  .filter(({ section }) => section !== "section");

/** The titles below which a file has tests: those in its text, and those of its document's examples. */
function titlesOf(name: string): string[] {
  const text = fs.readFileSync(new URL(`${name}.test.ts`, folder), "utf8");
  const own = [...text.matchAll(/^describe\("(.+?)", /gm)].map(([, title = ""]) => title);
  return files.includes(`${name}.md`) ? [...sectionsOf(name).map(({ title }) => title), ...own] : own;
}

describe("docs/reference/source-documents.md", () => {
  it.each(documents)("names the sections of %s with their tests", (name) => {
    const link = `[${name}](../../test/source-documents/${name}.test.ts)`;
    const named = rows.filter(({ test }) => test === link).map(({ section }) => section);
    expect(named.sort()).toEqual(titlesOf(name).sort());
    expect(named.length).toBeGreaterThan(0);
  });

  it("gives the reason for every section without a test", () => {
    const others = rows.filter(({ test }) => !test.startsWith("["));
    expect(others.filter(({ test }) => !/^no test: \w/.test(test))).toEqual([]);
  });
});

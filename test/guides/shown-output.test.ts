/** The comparison has to see what a reader would see: otherwise a guide that is wrong passes. */
import fs from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Block, readPage, root, stepsOf } from "./page.ts";
import { type Bindings, differences, differencesInJson, withBindings } from "./shown-output.ts";

describe("what is shown and what is printed", () => {
  it("are the same where only ids, ages, codes, addresses and widths differ, and ids are kept for later", () => {
    const bindings: Bindings = new Map();
    const shown =
      "ID          SINCE    FROM          CODE\n019a3c1e-…  4 s ago  192.168.1.57  481920\ntdn_3kQx…";
    const printed = "ID     SINCE      FROM       CODE\n01b7-22aa  31 min ago  127.0.0.1  000123\ntdn_zz-9\n";
    expect(differences(shown, printed, bindings)).toEqual([]);
    expect(withBindings("approve 019a3c1e-… 481920 --token tdn_3kQx…", bindings)).toBe(
      "approve 01b7-22aa 000123 --token tdn_zz-9",
    );
  });

  it.each([
    ["another word", "true", "false", ["- true", "+ false"]],
    ["another number", "30 boards", "31 boards", ["- 30 boards", "+ 31 boards"]],
    ["a line too many", "one", "one\ntwo", ["+ two"]],
    ["a line that is missing", "one\ntwo", "one", ["- two"]],
    [
      "something else behind it",
      "tendon: forbidden",
      "tendon: forbidden: why",
      ["- tendon: forbidden", "+ tendon: forbidden: why"],
    ],
    ["nothing behind the dots", "one\n…\nlast", "one\ntwo", ["- last", "+ two"]],
  ])("differ by %s", (_, shown, printed, wrong) => {
    expect(differences(shown, printed, new Map())).toEqual(wrong);
  });

  it("dots stand for any lines, also none", () => {
    for (const printed of ["first\nlast", "first\nx\ny\nlast\nz"])
      expect(differences("first\n…\nlast\n…", printed, new Map())).toEqual([]);
  });

  it("JSON has the same members of the same kinds, and the same words and truths", () => {
    const shown = { ok: true, code: "tool_unknown", ms: 7.7, list: [{ a: "x y" }] };
    expect(differencesInJson(shown, { ...shown, ms: 1, list: [{ a: "z z" }, { b: 1 }] })).toEqual([]);
    expect(differencesInJson(shown, { ...shown, ok: false })).toEqual(["/ok: true is shown, false came"]);
    expect(differencesInJson(shown, { ...shown, code: "forbidden" })).toHaveLength(1);
    expect(differencesInJson(shown, { ...shown, callId: "1" })).toEqual(["/callId came and is not shown"]);
    expect(differencesInJson(shown, { ok: true, code: "tool_unknown", ms: 7.7 })).toEqual([
      "/list is shown and did not come",
    ]);
    expect(differencesInJson({ list: [{ a: 1 }] }, { list: [{ b: 1 }] })).not.toEqual([]);
  });
});

describe("a page", () => {
  function page(text: string): Block[] {
    const folder = fs.mkdtempSync(path.join(root, "node_modules", ".guide-"));
    onTestFinished(() => fs.rmSync(folder, { recursive: true }));
    fs.writeFileSync(path.join(folder, "page.md"), text);
    return readPage(path.relative(root, path.join(folder, "page.md")));
  }

  it("has blocks with what the comments above them say, and commands with what they print", () => {
    const [shown, typed, ...rest] = page(
      "<!-- not run: why -->\n```sh\nx\n```\n\n```console\n$ a \\\n  b\nout\n\nput\n\n$ c\n```\n<!-- file: a/b.csv -->\n```csv\n1\n```\n",
    );
    expect(shown).toMatchObject({ language: "sh", notRun: "why" });
    expect(typed && stepsOf(typed)).toEqual([
      { command: "a \\\n  b", shown: "out\n\nput" },
      { command: "c", shown: undefined },
    ]);
    expect(rest).toMatchObject([{ language: "csv", file: "a/b.csv", text: "1" }]);
  });

  it.each([
    ["a comment that says nothing known", "<!-- skip -->\n```sh\nx\n```", "<!-- skip --> says nothing"],
    ["no reason", "<!-- not run: -->\n```sh\nx\n```", "says nothing"],
    ["no end", "```sh\nx", "does not end"],
  ])("is refused for %s", (_, text, why) => {
    expect(() => page(text)).toThrow(why);
  });
});

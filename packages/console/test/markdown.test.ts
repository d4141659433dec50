import { describe, expect, it } from "vitest";
import { readInline, readMarkdown } from "../src/pages/guide/markdown.ts";

describe("readMarkdown", () => {
  it("separates blocks, even without an empty line between them", () => {
    const kinds = readMarkdown(
      "# A title\nOne line\nand another.\n```sh\n# no heading\n| no table\n```\n- one\n  goes on\n- two\n| a | b |\n|---|---|\n| c | `d` |\n## *End*\n\n![only a picture](x.png)",
    );
    expect(kinds).toEqual([
      { kind: "heading", level: 1, slug: "a-title", text: [{ kind: "text", text: "A title" }] },
      { kind: "paragraph", text: [{ kind: "text", text: "One line and another." }] },
      { kind: "code", language: "sh", text: "# no heading\n| no table" },
      {
        kind: "list",
        ordered: false,
        items: [[{ kind: "text", text: "one goes on" }], [{ kind: "text", text: "two" }]],
      },
      {
        kind: "table",
        head: [[{ kind: "text", text: "a" }], [{ kind: "text", text: "b" }]],
        rows: [[[{ kind: "text", text: "c" }], [{ kind: "code", text: "d" }]]],
      },
      { kind: "heading", level: 2, slug: "end", text: [{ kind: "em", text: "End" }] },
    ]);
  });

  it("removes comments between paragraphs and above code", () => {
    expect(
      readMarkdown("<!-- for writers -->\nRead this:\n<!-- not run: why -->\n```sh\n<!-- x -->\n```"),
    ).toEqual([
      { kind: "paragraph", text: [{ kind: "text", text: "Read this:" }] },
      { kind: "code", language: "sh", text: "<!-- x -->" },
    ]);
  });

  it("keeps code unchanged, including a block without an end", () => {
    expect(readInline("`a **b** [c](d)` e")).toEqual([
      { kind: "code", text: "a **b** [c](d)" },
      { kind: "text", text: " e" },
    ]);
    expect(readMarkdown("```\nnever\nends")).toEqual([{ kind: "code", language: "", text: "never\nends" }]);
  });

  it("parses links with markup in them, and keeps unknown syntax as text", () => {
    expect(readInline("see [the `x` page](y.md#z), 2 * 3 * 4")).toEqual([
      { kind: "text", text: "see " },
      {
        kind: "link",
        href: "y.md#z",
        parts: [
          { kind: "text", text: "the " },
          { kind: "code", text: "x" },
          { kind: "text", text: " page" },
        ],
      },
      { kind: "text", text: ", 2 * 3 * 4" },
    ]);
  });
});

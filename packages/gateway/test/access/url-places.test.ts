import type { JsonObject, ToolDefinition } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { UrlHosts } from "../../src/access/url-hosts.ts";

const evil = "http://evil.test/";
const good = "https://files.example/";
const uri = { type: "string", format: "URI" };

function toolWith(schema: JsonObject): ToolDefinition {
  return {
    name: "t",
    description: "",
    inputSchema: { type: "object", ...schema },
    audience: "agent",
    repairs: [],
  };
}

function problems(schema: JsonObject, args: JsonObject) {
  return new UrlHosts(["files.example"]).problems(args, toolWith(schema)) ?? [];
}

describe("[ACC-5] a text that the schema marks as an address", () => {
  it.each<[string, JsonObject, JsonObject, string[]]>([
    ["a format in capitals", { properties: { a: uri } }, { A: evil }, ["/A"]],
    [
      "formats of other kinds",
      { properties: { a: { format: "Uri-Reference" }, b: { format: "http-url" } } },
      { a: evil, b: evil },
      ["/a", "/b"],
    ],
    [
      "a declared name, however it is spelt",
      { properties: { imageUrlPath: {} } },
      { iMaGeuRlPaTh: evil },
      ["/iMaGeuRlPaTh"],
    ],
    [
      "any other name",
      { properties: { a: {} }, additionalProperties: uri },
      { a: evil, b: evil, c: [{ d: evil }] },
      ["/b"],
    ],
    [
      "any other name, in any case",
      { properties: { a: {} }, additionalProperties: uri },
      { A: evil },
      ["/A"],
    ],
    [
      "names that an expression may fit",
      { properties: { a: {} }, patternProperties: { "^b": uri } },
      { a: evil, c: evil },
      ["/a", "/c"],
    ],
    ["the names", { propertyNames: uri }, { [evil]: 1, [good]: 1 }, ["/http:~1~1evil.test~1"]],
    [
      "the names of an object inside",
      { properties: { a: { propertyNames: { anyOf: [uri] } } } },
      { a: { [evil]: 1 } },
      ["/a/http:~1~1evil.test~1"],
    ],
    [
      "items",
      { properties: { a: { items: { items: uri } }, b: { prefixItems: [{}, uri] }, c: { contains: uri } } },
      { a: [[evil]], b: [1, evil], c: [evil] },
      ["/a/0/0", "/b/1", "/c/0"],
    ],
    [
      "alternatives",
      { properties: { a: { anyOf: [{ type: "null" }, uri] }, b: { not: uri }, c: { if: uri } } },
      { a: evil, b: evil, c: evil },
      ["/a", "/b", "/c"],
    ],
    [
      "references, also in a circle",
      {
        properties: { a: { $ref: "#/$defs/b" } },
        $defs: { b: { properties: { next: { $ref: "#/$defs/b" }, to: uri } } },
      },
      { a: { next: { next: { TO: evil } } } },
      ["/a/next/next/TO"],
    ],
    [
      "below a name that says it",
      {},
      { webhook: { target: evil, method: "POST", note: "see you" } },
      ["/webhook/target"],
    ],
    [
      "below such a name, badly written",
      {},
      { webhook: { a: "h\nttp:evil.test", b: "//evil.test", c: "\\\\evil.test" } },
      ["/webhook/a", "/webhook/b", "/webhook/c"],
    ],
    [
      "and nowhere else",
      { properties: { labels: { additionalProperties: {} }, links: { additionalProperties: uri } } },
      { labels: { a: "hello" }, links: { a: good } },
      [],
    ],
  ])("%s", (_, schema, args, found) => {
    expect(problems(schema, args).map(({ path }) => path)).toEqual(found);
  });

  it("a default counts behind a reference, in any case and in an alternative", () => {
    const schema = {
      properties: {
        Link: { allOf: [{ $ref: "#/$defs/link" }] },
        box: { properties: { url: { default: evil } } },
      },
      $defs: { link: { ...uri, default: evil } },
    };
    expect(problems(schema, { box: {} })).toMatchObject([
      { path: "/Link", message: expect.stringMatching(/^is required: its default leads to evil\.test/) },
      { path: "/box/url", message: expect.stringMatching(/^is required/) },
    ]);
    expect(problems(schema, { lINK: good, box: { URL: good } })).toEqual([]);
    expect(problems(schema, { link: null })).toMatchObject([{ path: "/Link" }]);
  });
});

describe("[MCP-15] a search that would take too long", () => {
  const many = <Item>(count: number, item: (index: number) => Item) =>
    Array.from({ length: count }, (_, index) => item(index));

  it.each<[string, JsonObject, JsonObject]>([
    [
      "items under many schemas",
      { properties: { a: { items: { allOf: many(800, () => ({ ...uri })) } } } },
      { a: many(20_000, () => 1) },
    ],
    [
      "members under many schemas",
      { properties: { a: { allOf: many(800, () => ({ additionalProperties: { ...uri } })) } } },
      { a: Object.fromEntries(many(5_000, (at) => [`m${at}`, 1])) },
    ],
  ])("is rejected: %s", (_, schema, args) => {
    expect(problems(schema, args)).toEqual([
      { path: "", malformed: true, message: "are too complex to check" },
    ]);
  });

  it("does not include circular references", () => {
    const $defs = Object.fromEntries(
      many(300, (at) => [
        `d${at}`,
        { allOf: many(3, (by) => ({ $ref: `#/$defs/d${(at * 7 + by) % 300}` })) },
      ]),
    );
    expect(problems({ properties: { url: { $ref: "#/$defs/d0" } }, $defs }, { url: good })).toEqual([]);
  });
});

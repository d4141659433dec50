import { isCallToolResult } from "@modelcontextprotocol/client";
import { normaliseResult, textResult } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { nested, readFixture } from "../read-fixture.ts";

const text = (value: string) => ({ type: "text", text: value });
const nestedImage = '{"type":"image","mimeType":"image/png","data":"iVBORw=="}';
const image = { type: "image", mimeType: "image/png", data: "iVBORw==" };
const sound = { type: "audio", mimeType: "audio/opus; codecs=opus", data: "AAAA" };
const base64 = (...bytes: (number | string)[]) =>
  Buffer.concat(
    bytes.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.of(part))),
  ).toString("base64");

describe("text", () => {
  test.each(["true", "false", "", "line1\nline2", "70", "[1,2]", '"a"', "null", "{broken", "{}x"])(
    "%j stays text, and is no structured content",
    (value) => {
      expect(normaliseResult({ content: [text(value)], isError: false })).toEqual({
        content: [text(value)],
        isError: false,
      });
    },
  );

  test.each(["{}", '{"volume":70}', ' \n{"a":{"b":[1]}} '])(
    "%j is offered as structured content too",
    (value) => {
      expect(normaliseResult({ content: [text(value)] })).toEqual({
        content: [text(value)],
        isError: false,
        structuredContent: JSON.parse(value),
      });
    },
  );

  it("in several parts gives no structured content", () => {
    const content = [text('{"a":1}'), text('{"b":2}')];
    expect(normaliseResult({ content })).toEqual({ content, isError: false });
  });

  it("with JSON that is nested too deeply gives no structured content", () => {
    const deep = `{"a":${nested(10_000)}}`;
    expect(normaliseResult({ content: [text(deep)] })).toEqual({ content: [text(deep)], isError: false });
  });

  it("has no extra fields that a strict client might reject", () => {
    expect(normaliseResult({ content: [{ ...text("a"), annotations: 5, _meta: "x" }] })).toEqual(
      textResult("a"),
    );
  });
});

describe("untrusted text", () => {
  it("is cleaned in content, structured content and links", () => {
    expect(
      normaliseResult({
        content: [text("a\u202eb"), { type: "resource_link", uri: "x:1", name: "n\u200b" }],
        structuredContent: { key: "v\u{e0041}" },
      }),
    ).toEqual({
      content: [text("ab"), { type: "resource_link", uri: "x:1", name: "n" }],
      isError: false,
      structuredContent: { key: "v" },
    });
    expect(normaliseResult({ content: [text('{"a":"\\u200bb"}')] }).structuredContent).toEqual({ a: "b" });
    expect(normaliseResult("bare\u0007").content).toEqual([text("bare")]);
  });
});

describe("structured content from the device", () => {
  it("takes precedence over the text", () => {
    expect(normaliseResult({ content: [text('{"a":1}')], structuredContent: { b: 2 } })).toMatchObject({
      structuredContent: { b: 2 },
    });
  });

  test.each([[[]], ["x"], [null], [5]])("is ignored when it is %j", (structuredContent) => {
    expect(normaliseResult({ content: [text("a")], structuredContent })).not.toHaveProperty(
      "structuredContent",
    );
  });
});

describe("images and audio", () => {
  test.each([
    ["an image in the standard's form", image, image],
    ["a sound", sound, sound],
    ["the firmware's image, JSON inside a text", { type: "image", image: nestedImage }, image],
    ["an image inside an object", { type: "image", image }, image],
    ["an image with fields of its own", { ...image, x: 1, annotations: 5 }, image],
    ["an image whose data has line ends", { ...image, data: "iVBO\nRw==\n" }, image],
    ["an image without padding", { ...image, data: "iVBORw" }, { ...image, data: "iVBORw" }],
  ])("%s", (_, item, expected) => {
    expect(normaliseResult({ content: [item] })).toEqual({ content: [expected], isError: false });
  });

  test.each([
    ["no data", { type: "image", mimeType: "image/png" }],
    ["data that is no text", { ...image, data: 5 }],
    ["data that is no base64", { ...image, data: "<svg/>" }],
    ["data cut in the middle", { ...image, data: "iVBOR" }],
    ["data with padding in the middle", { ...image, data: "iV==BORw" }],
    ["an inner text that is no JSON", { type: "image", image: "iVBORw==" }],
    ["an inner text that is a list", { type: "image", image: "[]" }],
    ["a sound without data", { type: "audio" }],
  ])("with %s are shown as text, so that nothing is lost", (_, item) => {
    expect(normaliseResult({ content: [item] }).content).toEqual([text(JSON.stringify(item))]);
  });
});

describe("the media type of an image or audio", () => {
  test.each([
    ["image", "image/jpeg", base64(0xff, 0xd8, 0xff, 0xe0, "..JFIF")],
    ["image", "image/png", base64(0x89, "PNG\r\n", 0x1a, 0x0a)],
    ["image", "image/gif", base64("GIF87a....")],
    ["image", "image/gif", base64("GIF89a....")],
    ["image", "image/webp", base64("RIFF\u0010\u0000\u0000\u0000WEBPVP8 ")],
    ["image", "image/avif", base64("\u0000\u0000\u0000 ftypavif")],
    ["image", "image/bmp", base64("BM\u0036\u0000\u0003\u0000\u0000\u0000\u0000\u0000")],
    ["audio", "audio/wav", base64("RIFF\u0010\u0000\u0000\u0000WAVEfmt ")],
    ["audio", "audio/ogg", base64("OggS....")],
    ["audio", "audio/flac", base64("fLaC....")],
    ["audio", "audio/mpeg", base64("ID3....")],
  ])("is corrected by its bytes: %s, %s", (type, mimeType, data) => {
    for (const stated of [
      "",
      " ",
      "jpg",
      "image/",
      "application/octet-stream",
      "image/jpg",
      "\u0000",
      5,
      null,
      undefined,
    ]) {
      expect(normaliseResult({ content: [{ type, data, mimeType: stated }] }).content).toEqual([
        { type, data, mimeType },
      ]);
    }
  });

  it("is kept when it is valid and the bytes are of an unknown kind", () => {
    const item = { type: "image", mimeType: "image/svg+xml", data: base64("<svg/>") };
    expect(normaliseResult({ content: [item] }).content).toEqual([item]);
  });

  test.each(["", "jpg", "image/", "image/a b", "text/plain", 5, undefined])(
    "%j beside bytes of no known kind leaves the image out, and says so",
    (mimeType) => {
      const item = { type: "image", mimeType, data: base64("neither") };
      expect(normaliseResult({ content: [text("a"), item] }).content).toEqual([
        text("a"),
        text("[image of 7 bytes left out: no valid mimeType and bytes of no known format]"),
      ]);
    },
  );

  it("is corrected inside the firmware's nested form too", () => {
    const data = base64(0xff, 0xd8, 0xff, 0xe0);
    const nestedIn = { type: "image", image: JSON.stringify({ type: "image", mimeType: "", data }) };
    expect(normaliseResult({ content: [nestedIn] }).content).toEqual([
      { type: "image", mimeType: "image/jpeg", data },
    ]);
  });
});

describe("resources", () => {
  const uri = "device://photo";

  test.each([
    ["a text", { type: "resource", resource: { uri, text: "a", mimeType: "text/plain" } }],
    ["bytes", { type: "resource", resource: { uri, blob: "iVBORw==" } }],
    ["a link", { type: "resource_link", uri, name: "photo", title: "Photo" }],
  ])("may be %s", (_, item) => {
    expect(normaliseResult({ content: [item] }).content).toEqual([item]);
  });

  test.each([
    ["nothing inside", { type: "resource" }],
    ["no address", { type: "resource", resource: { text: "a" } }],
    ["neither text nor bytes", { type: "resource", resource: { uri } }],
    ["bytes that are none", { type: "resource", resource: { uri, blob: "?" } }],
    ["a link without name", { type: "resource_link", uri }],
  ])("with %s are shown as text", (_, item) => {
    expect(normaliseResult({ content: [item] }).content).toEqual([text(JSON.stringify(item))]);
  });
});

describe("content of another kind is shown as text", () => {
  test.each([
    [{ type: "video", data: "x" }, '{"type":"video","data":"x"}'],
    [{ type: "text" }, '{"type":"text"}'],
    [{ type: "text", text: 5 }, '{"type":"text","text":5}'],
    [{}, "{}"],
    ["bare", "bare"],
    [5, "5"],
    [null, "null"],
    [[1], "[1]"],
  ])("%j", (item, shown) => {
    expect(normaliseResult({ content: [item] }).content).toEqual([text(shown)]);
  });
});

describe("an answer without a content list is wrapped", () => {
  test.each([
    ["done", textResult("done")],
    ["", textResult("")],
    [true, textResult("true")],
    [70, textResult("70")],
    [null, textResult("null")],
    [undefined, textResult("null")],
    [[1, 2], textResult("[1,2]")],
    ['{"a":1}', { ...textResult('{"a":1}'), structuredContent: { a: 1 } }],
    [{ a: 1 }, { ...textResult('{"a":1}'), structuredContent: { a: 1 } }],
    [{ content: "x" }, { ...textResult('{"content":"x"}'), structuredContent: { content: "x" } }],
  ])("%j", (raw, expected) => {
    expect(normaliseResult(raw)).toEqual(expected);
  });
});

describe("isError", () => {
  test.each([
    [true, true],
    [false, false],
    [undefined, false],
    [null, false],
    ["true", false],
    [1, false],
  ])("%j is %j", (isError, kept) => {
    expect(normaliseResult({ content: [text("a")], isError }).isError).toBe(kept);
  });
});

it("an empty content list stays empty", () => {
  expect(normaliseResult({ content: [] })).toEqual({ content: [], isError: false });
});

describe("an error without text", () => {
  test.each([[[]], [[text("")]], [[text(" \n"), text("")]]])("gets a text: %j", (content) => {
    expect(normaliseResult({ content, isError: true })).toEqual({
      content: [text("the tool reported an error without a message")],
      isError: true,
    });
  });

  it("is unchanged when it has structured content or an image", () => {
    const structured = { content: [], isError: true, structuredContent: { a: 1 } };
    expect(normaliseResult(structured)).toEqual(structured);
    expect(normaliseResult({ content: [text(""), image], isError: true }).content).toEqual([text(""), image]);
  });
});

describe("an official MCP client accepts the result", () => {
  interface Reply {
    readonly result?: { readonly content?: unknown };
  }
  const results = readFixture<{ readonly case: string; readonly payload: string }>("replies").flatMap(
    (row) => {
      const { result } = JSON.parse(row.payload) as Reply;
      return result?.content === undefined ? [] : [{ name: row.case, result }];
    },
  );

  test.each(results)("of the recorded $name", ({ result }) => {
    expect(isCallToolResult(normaliseResult(result))).toBe(true);
  });

  it("of a recorded image, unwrapped", () => {
    const recorded = results.find(({ name }) => name === "return-image")?.result;
    expect(normaliseResult(recorded)).toEqual({
      content: [{ type: "image", mimeType: "image/png", data: "iVBORy1ob3N0" }],
      isError: false,
    });
  });

  it("of any answer of a device", () => {
    const odd = fc.oneof(
      fc.jsonValue(),
      fc.string(),
      fc.constantFrom("iVBORw==", "iVBORw", nestedImage, "a="),
    );
    const keys = [
      "text",
      "data",
      "mimeType",
      "image",
      "resource",
      "uri",
      "name",
      "blob",
      "annotations",
      "_meta",
      "size",
    ];
    const fields = fc.dictionary(fc.constantFrom(...keys), odd);
    const kinds = fc.constantFrom("text", "image", "audio", "resource", "resource_link", "video");
    const item = fc.oneof(
      odd,
      fc
        .tuple(kinds, fields, fields)
        .map(([type, own, inner]) => ({ resource: inner, image: inner, ...own, type })),
    );
    const raw = fc.oneof(
      odd,
      fc.record({
        content: fc.array(item, { maxLength: 3 }),
        isError: odd,
        structuredContent: odd,
        _meta: odd,
      }),
    );
    fc.assert(
      fc.property(raw, (answer) => {
        expect(normaliseResult(answer)).toSatisfy(isCallToolResult);
      }),
      { numRuns: 1_000 },
    );
  });
});

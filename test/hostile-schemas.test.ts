/** Device schemas that could block the gateway, and messages for invalid arguments, through REST. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askAll } from "./http-client.ts";
import type { Fields, RawDevice, ToolEntry } from "./raw-device.ts";
import { firstDevice, type Site, startSite } from "./site.ts";

const many = <Item>(count: number, item: (index: number) => Item) =>
  Array.from({ length: count }, (_, index) => item(index));

function taking(name: string, inputSchema: Fields): ToolEntry {
  return { name, description: `Does ${name}`, inputSchema: { type: "object", ...inputSchema } };
}

const bombs: readonly [string, Fields, Fields][] = [
  [
    "a thousand schemas for each item",
    { properties: { a: { items: { allOf: many(1_000, () => ({ minimum: 0 })) } } } },
    { a: many(20_000, () => 1) },
  ],
  [
    "alternatives for each item",
    { properties: { a: { items: { anyOf: many(900, (at) => ({ const: at })) } } } },
    { a: many(15_000, () => 899) },
  ],
  [
    "references that double",
    {
      properties: { a: { $ref: "#/$defs/d0" } },
      $defs: {
        ...Object.fromEntries(
          many(60, (at) => [`d${at}`, { allOf: many(2, () => ({ $ref: `#/$defs/d${at + 1}` })) }]),
        ),
        d60: { type: "integer" },
      },
    },
    { a: 1 },
  ],
  [
    "choices of objects in many branches",
    { properties: { a: { anyOf: many(500, (at) => ({ enum: [[at]] })) } } },
    { a: many(10_000, () => 1) },
  ],
  [
    "repeats looked for many times",
    { properties: { a: { allOf: many(500, () => ({ uniqueItems: true })) } } },
    { a: many(10_000, (at) => at) },
  ],
  [
    "repeats looked for among many objects",
    { properties: { a: { type: "array", uniqueItems: true } } },
    { a: many(5_000, (at) => ({ a: at })) },
  ],
];

const tools: readonly ToolEntry[] = [
  taking("expressions", {
    properties: {
      code: { type: "string", pattern: "^(a+)+$" },
      template: { type: "string", format: "uri-template" },
      when: { type: "string", format: "date-time" },
    },
    additionalProperties: { type: "string", format: "url" },
  }),
  taking("named", {
    properties: { a: { type: "string" } },
    patternProperties: { "^(x+)+$": { type: "integer" } },
    additionalProperties: false,
  }),
  taking("failing", { properties: { a: { items: { allOf: many(1_000, () => ({ minimum: 5 })) } } } }),
  taking("large", {
    properties: {
      a: { type: "array", items: { type: "object", properties: { a: { type: "integer" } } } },
      b: { type: "array", uniqueItems: true },
    },
  }),
  taking("strict", {
    properties: { volume: { type: "integer" }, box: { type: "object", additionalProperties: false } },
    additionalProperties: false,
  }),
  ...bombs.map(([name, schema]) => taking(name, schema)),
];

let site: Site;
let device: RawDevice;

beforeAll(async () => {
  site = await startSite({ config: { access: { urlHosts: ["*"] } } });
  device = await site.join({ tools });
});
afterAll(() => site.stop());

async function refused(tool: string, args: Fields) {
  const { status, body } = await site.call(firstDevice, tool, args);
  return [status, body["code"], body["detail"]];
}

/** The arguments as they reach the device. */
async function passed(tool: string, args: Fields): Promise<unknown> {
  const answer = site.call(firstDevice, tool, args);
  const { id, params } = await device.nextRequest("tools/call");
  device.reply(id, { content: [] });
  expect((await answer).status).toBe(200);
  return params["arguments"];
}

describe("[MCP-14] expressions and formats of a device", () => {
  it("never block the gateway, whatever is sent", async () => {
    const url = `http://${"a".repeat(60)}!`;
    expect(await refused("expressions", { x: url })).toEqual([403, "forbidden", expect.any(String)]);
    expect(await refused("expressions", { x: "a".repeat(60) })).toEqual([
      422,
      "arguments_invalid",
      expect.stringMatching(/^\/x must be an address/),
    ]);
    expect((await askAll(site.url, { path: "/healthz" })).status).toBe(200);
  });

  it("are published, but only a few formats are evaluated", async () => {
    const { body } = await site.rest("GET", `/devices/${firstDevice}/tools`);
    const [first] = body["tools"] as { inputSchema: Fields }[];
    expect(first?.inputSchema).toMatchObject({
      properties: { code: { pattern: "^(a+)+$" }, template: { format: "uri-template" } },
    });
    const args = { code: `${"a".repeat(40)}!`, template: "{".repeat(60), when: "2026-01-31T12:00:00Z" };
    expect(await passed("expressions", args)).toEqual(args);
    expect(await refused("expressions", { when: "tomorrow" })).toEqual([
      422,
      "arguments_invalid",
      "/when must be a date and time, such as 2026-01-31T12:00:00Z",
    ]);
  });

  it("do not reject names that they might match", async () => {
    const args = { xxx: 5, [`${"x".repeat(40)}!`]: 1 };
    expect(await passed("named", args)).toEqual(args);
    expect(await refused("named", { a: 5 })).toEqual([422, "arguments_invalid", "/a must be a string"]);
  });
});

describe("[MCP-15] schemas that take long to check", () => {
  it.each(bombs)("%s: rejected as too complex", async (tool, _schema, args) => {
    expect(await refused(tool, args)).toEqual([
      422,
      "arguments_invalid",
      "the arguments are too complex to check",
    ]);
  });

  it("a thousand schemas that all fail are 422 with the first problem", async () => {
    expect(await refused("failing", { a: many(30, () => 1) })).toEqual([
      422,
      "arguments_invalid",
      "/a/0 must be at least 5",
    ]);
  });

  it("large arguments for a simple schema reach the device", async () => {
    const args = { a: many(5_000, (at) => ({ a: at })), b: many(500, (at) => at) };
    expect(await passed("large", args)).toEqual(args);
  });
});

describe("[MCP-9] an invalid argument", () => {
  it("is named in plain words", async () => {
    expect(await refused("strict", { loudness: 5 })).toEqual([
      422,
      "arguments_invalid",
      "/loudness is not an argument of this tool",
    ]);
    expect(await refused("strict", { box: { a: 1 } })).toEqual([
      422,
      "arguments_invalid",
      "/box/a is not accepted here",
    ]);
  });
});

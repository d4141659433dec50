import { describe, expect, it } from "vitest";
import { callerSchema, hasUploadUrl, requiresUploadUrl } from "../../src/index.ts";

const name = "self.screen.snapshot";
const url = { type: "string" } as const;
const quality = { type: "integer", default: 80, minimum: 1, maximum: 100 } as const;
const stock = { type: "object", properties: { url, quality }, required: ["url"] } as const;

describe("callerSchema", () => {
  it("[CAM-4] makes the upload address of the stock tool optional, always as the same object", () => {
    const tool = { name, inputSchema: stock };
    expect(callerSchema(tool)).toEqual({
      type: "object",
      properties: { url: { type: "string", description: expect.any(String) }, quality },
    });
    expect(callerSchema({ ...tool })).toBe(callerSchema(tool));
    expect(stock.required).toEqual(["url"]);
  });

  it("[CAM-4] keeps the device's description of the address, and other required arguments", () => {
    const described = { type: "string", description: "Where to" };
    const inputSchema = { ...stock, properties: { url: described, quality }, required: ["url", "quality"] };
    expect(callerSchema({ name, inputSchema })).toEqual({ ...inputSchema, required: ["quality"] });
  });

  it.each([
    ["another tool", "self.screen.preview_image", stock],
    ["an optional address", name, { ...stock, required: [] }],
    ["no list of required arguments", name, { type: "object", properties: { url } }],
    ["an address of another type", name, { ...stock, properties: { url: { type: "object" } } }],
    ["no address", name, { type: "object", properties: { quality }, required: ["url"] }],
    ["no properties", name, { type: "object", required: ["url"] }],
  ] as const)("[CAM-4] leaves the schema unchanged for %s", (_what, tool, inputSchema) => {
    expect(requiresUploadUrl({ name: tool, inputSchema })).toBe(false);
    expect(callerSchema({ name: tool, inputSchema })).toBe(inputSchema);
  });
});

describe("hasUploadUrl", () => {
  it("[CAM-4] finds the address in any case, as the firmware does", () => {
    expect([{ url: "x" }, { URL: "x" }, { uRl: "" }].map(hasUploadUrl)).toEqual([true, true, true]);
    expect([{}, { quality: 1 }, { urls: "x" }].map(hasUploadUrl)).toEqual([false, false, false]);
  });
});

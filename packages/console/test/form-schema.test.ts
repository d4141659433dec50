import { describe, expect, it } from "vitest";
import { formSchema } from "../src/pages/device/form-schema.ts";

describe("formSchema", () => {
  it("makes an address required when its default is a description, as on stock boards", () => {
    const sentence = "The URL of the firmware binary file to download and install";
    const schema = {
      type: "object",
      properties: { url: { type: "string", default: sentence }, quality: { type: "integer", default: 80 } },
    };
    expect(formSchema(schema)).toEqual({
      type: "object",
      properties: {
        url: { type: "string", description: sentence },
        quality: { type: "integer", default: 80 },
      },
      required: ["url"],
    });
  });

  it("returns every other schema unchanged", () => {
    for (const schema of [
      { type: "object" },
      { type: "object", properties: { url: { type: "string", default: "https://example.com/a.bin" } } },
      { type: "object", properties: { text: { type: "string", default: "no address at all" } } },
    ]) {
      expect(formSchema(schema)).toBe(schema);
    }
  });
});

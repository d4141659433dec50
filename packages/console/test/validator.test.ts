import { describe, expect, it } from "vitest";
import { createValidator } from "../src/forms/validator.ts";
import { createI18n, languages } from "../src/i18n/i18n.tsx";

const schema = {
  type: "object" as const,
  properties: {
    volume: { type: "integer" as const, minimum: 0, maximum: 100 },
    name: { type: "string" as const },
    mode: { type: "string" as const, enum: ["a", "b"] },
  },
  required: ["volume", "name"],
};

async function problems(values: Record<string, unknown>): Promise<Record<string, string | undefined>> {
  const validator = createValidator(createI18n("en", await languages.en.load()));
  const { errors } = validator.validateFormData(values, schema);
  return Object.fromEntries(errors.map(({ property, message }) => [property ?? "", message]));
}

describe("the form's validator", () => {
  it("reports nothing for valid values", async () => {
    expect(await problems({ volume: 5, name: "x", mode: "a" })).toEqual({});
  });

  it("reports each problem at its field, in the page's language", async () => {
    expect(await problems({ volume: 300, mode: "c" })).toEqual({
      ".volume": "At most 100",
      ".name": "Enter a value",
      ".mode": "Not one of the choices",
    });
    expect(await problems({ volume: "x", name: "x" })).toMatchObject({
      ".volume": "Must be of type integer",
    });
    expect(await problems({ volume: -1, name: "x" })).toEqual({ ".volume": "At least 0" });
  });

  it("treats an emptied field as missing", async () => {
    expect(await problems({ volume: 5, name: undefined, mode: undefined })).toEqual({
      ".name": "Enter a value",
    });
  });

  it("[MCP-14] never runs a device's regular expression, which could block the page", async () => {
    const validator = createValidator(createI18n("en", await languages.en.load()));
    const text = `${"a".repeat(60)}!`;
    const expressions = {
      type: "object" as const,
      properties: {
        a: { type: "string" as const, pattern: "^(a+)+$" },
        b: { type: "string" as const, format: "uri-template" },
      },
      additionalProperties: { type: "string" as const, format: "url" },
    };
    const url = `http://${"a".repeat(60)} `;
    expect(validator.isValid(expressions, { a: text, b: "{".repeat(60) }, expressions)).toBe(true);
    expect(validator.validateFormData({ a: text, c: url }, expressions).errors).toMatchObject([
      { name: "format", property: ".c" },
    ]);
  });
});

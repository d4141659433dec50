import { describe, expect, it } from "vitest";
import { createValidator } from "../src/forms/validator.ts";
import { createWords, languages } from "../src/i18n/i18n.tsx";

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
  const validator = createValidator(createWords("en", await languages.en.load()));
  const { errors } = validator.validateFormData(values, schema);
  return Object.fromEntries(errors.map(({ property, message }) => [property ?? "", message]));
}

describe("the form's validator", () => {
  it("says nothing about values that fit", async () => {
    expect(await problems({ volume: 5, name: "x", mode: "a" })).toEqual({});
  });

  it("puts each problem at its field, in the page's own words", async () => {
    expect(await problems({ volume: 300, mode: "c" })).toEqual({
      ".volume": "At most 100",
      ".name": "Has to be given",
      ".mode": "None of the choices",
    });
    expect(await problems({ volume: "x", name: "x" })).toMatchObject({
      ".volume": "Has to be of the kind integer",
    });
    expect(await problems({ volume: -1, name: "x" })).toEqual({ ".volume": "At least 0" });
  });

  it("takes a field that was emptied as one that is not there", async () => {
    expect(await problems({ volume: 5, name: undefined, mode: undefined })).toEqual({
      ".name": "Has to be given",
    });
  });

  it("[MCP-14] runs no expression of a device: the page would stand still", async () => {
    const validator = createValidator(createWords("en", await languages.en.load()));
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

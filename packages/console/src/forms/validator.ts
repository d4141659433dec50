/**
 * rjsf's validator on @cfworker/json-schema: schemas come from devices, and the page's policy forbids making code of
 * them. The words are the page's own, because the library's are English.
 */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import { type RJSFSchema, type RJSFValidationError, toErrorSchema, type ValidatorType } from "@rjsf/utils";
import type { Words } from "../i18n/i18n.tsx";

type Values = Record<string, unknown>;
export type FormValidator = ValidatorType<Values, RJSFSchema>;

/** Keywords that only repeat what one further down says better. */
const wrappers = new Set(["properties", "items", "allOf", "anyOf", "oneOf", "$ref", "additionalProperties"]);

export function createValidator(words: Words): FormValidator {
  const check = (schema: RJSFSchema, value: unknown): OutputUnit[] => {
    const { valid, errors } = new Validator(schema as Schema, "7", false).validate(value ?? {});
    return valid ? [] : errors.filter(({ keyword }) => !wrappers.has(keyword));
  };
  return {
    validateFormData(formData, schema) {
      const errors = check(schema, formData).map((unit) => problemOf(words, unit, schema));
      return { errors, errorSchema: toErrorSchema(errors) };
    },
    isValid: (schema, formData) => new Validator(schema as Schema, "7").validate(formData).valid,
    rawValidation: <Result>(schema: RJSFSchema, formData?: Values) => ({
      errors: check(schema, formData) as unknown as Result[],
    }),
  };
}

function problemOf(
  words: Words,
  { keyword, instanceLocation, error }: OutputUnit,
  schema: RJSFSchema,
): RJSFValidationError {
  const path = instanceLocation
    .replace(/^#\/?/, "")
    .split("/")
    .filter((part) => part !== "");
  const missing = keyword === "required" ? /"([^"]+)"/.exec(error)?.[1] : undefined;
  const at = missing === undefined ? path : [...path, missing];
  const message = sentence(words, keyword, at, schema);
  return { name: keyword, property: `.${at.join(".")}`, message, stack: message };
}

function sentence({ t }: Words, keyword: string, path: readonly string[], schema: RJSFSchema): string {
  const [name = ""] = path;
  const property = schema.properties?.[name];
  const rule = typeof property === "object" ? property : {};
  switch (keyword) {
    case "required":
      return t("form.required");
    case "minimum":
      return t("form.minimum", { value: rule.minimum ?? "" });
    case "maximum":
      return t("form.maximum", { value: rule.maximum ?? "" });
    case "type":
      return t("form.type", { type: Array.isArray(rule.type) ? rule.type.join(", ") : (rule.type ?? "") });
    case "minLength":
    case "maxLength":
      return t("form.length");
    case "enum":
      return t("form.enum");
    default:
      return t("form.other");
  }
}

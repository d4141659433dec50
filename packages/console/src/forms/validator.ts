/**
 * rjsf's validator on the one that the gateway uses: schemas come from devices, so none of their expressions is run,
 * and the page's policy forbids making code of them. The words are the page's own, because the others are English.
 */
import { type RJSFSchema, type RJSFValidationError, toErrorSchema, type ValidatorType } from "@rjsf/utils";
import { type SchemaProblem, SchemaValidator } from "@tendon/protocol";
import type { Words } from "../i18n/i18n.tsx";

type Values = Record<string, unknown>;
export type FormValidator = ValidatorType<Values, RJSFSchema>;

export function createValidator(words: Words): FormValidator {
  return {
    validateFormData(formData, schema) {
      const errors = check(schema, formData ?? {}).map((problem) => errorOf(words, problem, schema));
      return { errors, errorSchema: toErrorSchema(errors) };
    },
    isValid: (schema, formData, rootSchema) => check(schema, formData, rootSchema).length === 0,
    rawValidation: <Result>(schema: RJSFSchema, formData?: Values) => ({
      errors: check(schema, formData ?? {}) as unknown as Result[],
    }),
  };
}

/** What takes too long to check here is for the gateway to decide. A field that was emptied is not sent. */
function check(schema: RJSFSchema, value: unknown, root: RJSFSchema = schema): SchemaProblem[] {
  const sent: unknown = value === undefined ? {} : JSON.parse(JSON.stringify(value));
  return new SchemaValidator(schema, root).problems(sent).filter(({ keyword }) => keyword !== "steps");
}

function errorOf(words: Words, { keyword, path }: SchemaProblem, schema: RJSFSchema): RJSFValidationError {
  const at = path
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
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

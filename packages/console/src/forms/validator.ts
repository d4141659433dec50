/**
 * A validator for rjsf, based on the one of the gateway. Schemas come from devices, so their regular expressions are not
 * run, and the page's CSP forbids compiled validators. Messages come from the console's translations.
 */
import { type RJSFSchema, type RJSFValidationError, toErrorSchema, type ValidatorType } from "@rjsf/utils";
import { type SchemaProblem, SchemaValidator } from "@tendon/protocol";
import type { I18n } from "../i18n/i18n.tsx";

type Values = Record<string, unknown>;
export type FormValidator = ValidatorType<Values, RJSFSchema>;

export function createValidator(i18n: I18n): FormValidator {
  return {
    validateFormData(formData, schema) {
      const errors = check(schema, formData ?? {}).map((problem) => errorOf(i18n, problem, schema));
      return { errors, errorSchema: toErrorSchema(errors) };
    },
    isValid: (schema, formData, rootSchema) => check(schema, formData, rootSchema).length === 0,
    rawValidation: <Result>(schema: RJSFSchema, formData?: Values) => ({
      errors: check(schema, formData ?? {}) as unknown as Result[],
    }),
  };
}

/** The gateway checks what would take too long here. An emptied field is not sent. */
function check(schema: RJSFSchema, value: unknown, root: RJSFSchema = schema): SchemaProblem[] {
  const sent: unknown = value === undefined ? {} : JSON.parse(JSON.stringify(value));
  return new SchemaValidator(schema, root).problems(sent).filter(({ keyword }) => keyword !== "steps");
}

function errorOf(i18n: I18n, { keyword, path }: SchemaProblem, schema: RJSFSchema): RJSFValidationError {
  const at = path
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const message = sentence(i18n, keyword, at, schema);
  return { name: keyword, property: `.${at.join(".")}`, message, stack: message };
}

function sentence({ t }: I18n, keyword: string, path: readonly string[], schema: RJSFSchema): string {
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

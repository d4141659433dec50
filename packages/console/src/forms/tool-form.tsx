/** A form generated from a tool's schema. Loaded when the first form is opened. */
// Imports only the form: the package's index also loads a test helper, which needs a validator that is not installed.
import Form from "@rjsf/core/lib/components/Form.js";
import type { RJSFSchema, UiSchema } from "@rjsf/utils";
import { withoutExpressions } from "@tendon/protocol";
import { type ReactNode, useMemo, useState } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import { ArrayItemTemplate, ArrayTemplate, FieldTemplate, ObjectTemplate } from "./templates.tsx";
import { createValidator } from "./validator.ts";
import { InputTemplate, LongTextWidget, RangeWidget, SelectWidget, SwitchWidget } from "./widgets.tsx";

type Values = Record<string, unknown>;

const templates = {
  FieldTemplate,
  ObjectFieldTemplate: ObjectTemplate,
  ArrayFieldTemplate: ArrayTemplate,
  ArrayFieldItemTemplate: ArrayItemTemplate,
  BaseInputTemplate: InputTemplate,
};
const widgets = {
  CheckboxWidget: SwitchWidget,
  SelectWidget,
  RangeWidget,
  TextareaWidget: LongTextWidget,
};

const widestRange = 10_000;

export function ToolForm(props: {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly values: Values;
  readonly onChange: (values: Values) => void;
  readonly onSubmit: (values: Values) => void;
  readonly disabled: boolean;
  readonly idPrefix: string;
  readonly children: ReactNode;
}) {
  const { schema, values, onChange, onSubmit, disabled, idPrefix, children } = props;
  const i18n = useI18n();
  const validator = useMemo(() => createValidator(i18n), [i18n]);
  const [fitted] = useState(() => fit(schema));
  return (
    <Form<Values, RJSFSchema>
      schema={fitted.schema}
      uiSchema={fitted.uiSchema}
      validator={validator}
      formData={values}
      onChange={({ formData }) => onChange(formData ?? {})}
      onSubmit={({ formData }) => onSubmit(formData ?? {})}
      // Errors are shown beside each field. Without this handler, the library also logs them.
      onError={() => undefined}
      disabled={disabled}
      idPrefix={idPrefix}
      showErrorList={false}
      noHtml5Validate
      templates={templates}
      widgets={widgets}
      experimental_defaultFormStateBehavior={{ emptyObjectFields: "populateRequiredDefaults" }}
    >
      {children}
    </Form>
  );
}

/**
 * Shows ranges as sliders, and labels each field with its name rather than the schema's title. Removes regular
 * expressions, because the form library would run them on property names.
 */
function fit(given: Readonly<Record<string, unknown>>): { schema: RJSFSchema; uiSchema: UiSchema<Values> } {
  const { title: _title, description: _description, ...schema } = withoutExpressions(given) as RJSFSchema;
  const uiSchema: UiSchema<Values> = { "ui:submitButtonOptions": { norender: true } };
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (typeof property !== "object" || property.enum !== undefined) continue;
    const { type, minimum, maximum } = property;
    const bounded = minimum !== undefined && maximum !== undefined && maximum - minimum <= widestRange;
    if ((type === "integer" || type === "number") && bounded) uiSchema[name] = { "ui:widget": "range" };
  }
  return { schema, uiSchema };
}

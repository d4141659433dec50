/** A form made from a tool's own schema. Loaded when the first one is opened. */
// The form alone: the index also leads to a test helper, which wants a validator that is not here.
import Form from "@rjsf/core/lib/components/Form.js";
import type { RJSFSchema, UiSchema } from "@rjsf/utils";
import { withoutExpressions } from "@tendon/protocol";
import { type ReactNode, useMemo, useState } from "react";
import { useWords } from "../i18n/i18n.tsx";
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
  const words = useWords();
  const validator = useMemo(() => createValidator(words), [words]);
  const [fitted] = useState(() => fit(schema));
  return (
    <Form<Values, RJSFSchema>
      schema={fitted.schema}
      uiSchema={fitted.uiSchema}
      validator={validator}
      formData={values}
      onChange={({ formData }) => onChange(formData ?? {})}
      onSubmit={({ formData }) => onSubmit(formData ?? {})}
      // What is wrong stands beside each field; the library would also write it to the console.
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
 * Ranges become sliders. Names of fields are what the device calls them; a title of the schema's own would hide that.
 * Expressions are taken out, because the form's library runs those for names of members.
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

/** The input widgets of forms, in the console's style. */
import type { BaseInputTemplateProps, WidgetProps } from "@rjsf/utils";
import { useI18n } from "../i18n/i18n.tsx";
import { Slider, Switch } from "../ui/controls.tsx";
import { inputClass, Select, TextInput } from "../ui/field.tsx";

function isNumber(type: unknown): boolean {
  return type === "integer" || type === "number";
}

export function InputTemplate(props: BaseInputTemplateProps) {
  const { id, value, schema, onChange, rawErrors, disabled, required, label } = props;
  const numeric = isNumber(schema.type);
  return (
    <TextInput
      id={id}
      type={numeric ? "number" : schema.format === "password" ? "password" : "text"}
      aria-label={label}
      aria-invalid={(rawErrors?.length ?? 0) > 0}
      required={false}
      aria-required={required === true}
      disabled={disabled === true}
      min={schema.minimum}
      max={schema.maximum}
      step={schema.type === "integer" ? 1 : "any"}
      value={value ?? ""}
      onChange={({ target }) => onChange(read(target.value, numeric))}
    />
  );
}

/** An empty field has no value, rather than an empty text or 0. */
function read(text: string, numeric: boolean): unknown {
  if (text === "") return undefined;
  return numeric ? Number(text) : text;
}

/** A slider, and the same number as a field. */
export function RangeWidget({ id, value, schema, onChange, label, disabled, rawErrors }: WidgetProps) {
  const { t } = useI18n();
  const { minimum: min = 0, maximum: max = 100 } = schema;
  const known = typeof value === "number";
  const whole = schema.type === "integer";
  return (
    <div className="flex items-center gap-3">
      <Slider
        label={label}
        min={min}
        max={max}
        step={schema.multipleOf ?? (whole ? 1 : (max - min) / 100)}
        value={known ? Math.min(max, Math.max(min, value)) : min}
        onChange={onChange}
        disabled={disabled}
      />
      <span className="w-20 shrink-0">
        <input
          id={id}
          type="number"
          inputMode={whole ? "numeric" : "decimal"}
          aria-invalid={(rawErrors?.length ?? 0) > 0}
          min={min}
          max={max}
          step={schema.multipleOf ?? (whole ? 1 : "any")}
          disabled={disabled === true}
          placeholder={t("form.unset")}
          value={known ? value : ""}
          onChange={({ target }) => onChange(read(target.value, true))}
          className={`${inputClass} number-plain text-right`}
        />
      </span>
    </div>
  );
}

export function SwitchWidget({ id, value, onChange, disabled, label }: WidgetProps) {
  return (
    <span className="flex h-8 items-center">
      <Switch id={id} label={label} checked={value === true} onChange={onChange} disabled={disabled} />
    </span>
  );
}

export function SelectWidget({ id, value, options, onChange, disabled, required, label }: WidgetProps) {
  const choices = options.enumOptions ?? [];
  const at = choices.findIndex((choice) => choice.value === value);
  return (
    <Select
      id={id}
      aria-label={label}
      disabled={disabled === true}
      value={at}
      onChange={({ target }) => onChange(choices[Number(target.value)]?.value)}
    >
      {(at === -1 || required !== true) && <option value={-1}>—</option>}
      {choices.map((choice, index) => (
        <option key={choice.label} value={index}>
          {choice.label}
        </option>
      ))}
    </Select>
  );
}

export function LongTextWidget({ id, value, onChange, disabled, label }: WidgetProps) {
  return (
    <textarea
      id={id}
      aria-label={label}
      rows={3}
      disabled={disabled === true}
      value={typeof value === "string" ? value : ""}
      onChange={({ target }) => onChange(target.value === "" ? undefined : target.value)}
      className={`${inputClass} h-auto py-1.5`}
    />
  );
}

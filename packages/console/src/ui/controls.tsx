import { Slider as RadixSlider, Switch as RadixSwitch } from "radix-ui";
import { useId, useState } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import { inputClass } from "./field.tsx";

export function Switch(props: {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly label?: string | undefined;
  readonly id?: string | undefined;
  readonly disabled?: boolean | undefined;
}) {
  const { checked, onChange, label, id, disabled } = props;
  return (
    <RadixSwitch.Root
      checked={checked}
      onCheckedChange={onChange}
      {...(label === undefined ? {} : { "aria-label": label })}
      {...(id === undefined ? {} : { id })}
      disabled={disabled === true}
      className="relative inline-flex h-5 w-9 shrink-0 items-center rounded-full bg-control transition-colors disabled:opacity-50 data-[state=checked]:bg-accent"
    >
      <RadixSwitch.Thumb className="block size-4 translate-x-0.5 rounded-full bg-knob shadow-sm transition-transform data-[state=checked]:translate-x-4.5" />
    </RadixSwitch.Root>
  );
}

export function Slider(props: {
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step?: number;
  readonly label: string;
  readonly onChange: (value: number) => void;
  /** Called when the user releases the slider or presses a key. */
  readonly onCommit?: (value: number) => void;
  readonly disabled?: boolean | undefined;
  /** Id of the element that explains why the control is disabled. */
  readonly describedBy?: string | undefined;
}) {
  const { value, min, max, step = 1, label, onChange, onCommit, disabled, describedBy } = props;
  return (
    <RadixSlider.Root
      value={[value]}
      min={min}
      max={max}
      step={step}
      onValueChange={([next = min]) => onChange(next)}
      onValueCommit={([next = min]) => onCommit?.(next)}
      disabled={disabled === true}
      className="relative flex h-6 w-full touch-none items-center select-none data-disabled:opacity-50"
    >
      <RadixSlider.Track className="relative h-1.5 grow rounded-full bg-line-strong">
        <RadixSlider.Range className="absolute h-full rounded-full bg-accent" />
      </RadixSlider.Track>
      <RadixSlider.Thumb
        aria-label={label}
        aria-describedby={describedBy}
        className="block size-4.5 rounded-full border-2 border-accent bg-knob shadow-sm transition-transform hover:scale-110"
      />
    </RadixSlider.Root>
  );
}

/**
 * A number that can be typed beside a slider. It is sent with Enter or when the field is left; Escape takes it back. A
 * number out of range is not sent.
 */
export function LevelInput(props: {
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly label: string;
  readonly onCommit: (value: number) => void;
  /** Why the typed number is not sent; `undefined` once it is corrected. */
  readonly problem: string | undefined;
  readonly onProblem: (problem: string | undefined) => void;
  readonly disabled?: boolean | undefined;
  readonly describedBy?: string | undefined;
}) {
  const { value, min, max, label, onCommit, problem, onProblem, disabled, describedBy } = props;
  const { t } = useI18n();
  const [draft, setDraft] = useState<string>();
  const take = (text: string | undefined) => {
    setDraft(text);
    if (problem !== undefined) onProblem(undefined);
  };
  const commit = () => {
    const typed = Number(draft);
    if (draft === undefined || draft.trim() === "" || !Number.isFinite(typed)) return take(undefined);
    if (typed < min) return onProblem(t("form.minimum", { value: min }));
    if (typed > max) return onProblem(t("form.maximum", { value: max }));
    take(undefined);
    const whole = Math.round(typed);
    if (whole !== value) onCommit(whole);
  };
  return (
    <span className="w-16 shrink-0">
      <input
        type="number"
        inputMode="numeric"
        aria-label={label}
        aria-describedby={describedBy}
        aria-invalid={problem !== undefined}
        min={min}
        max={max}
        disabled={disabled === true}
        value={draft ?? value}
        onChange={({ target }) => take(target.value)}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit();
          if (event.key !== "Escape") return;
          event.stopPropagation();
          take(undefined);
        }}
        className={`${inputClass} number-plain text-right`}
      />
    </span>
  );
}

/** A few choices side by side, all visible. */
export function Segments<Value extends string>(props: {
  readonly label: string;
  readonly value: Value;
  readonly choices: readonly { readonly value: Value; readonly label: string }[];
  readonly onChange: (value: Value) => void;
  readonly disabled?: boolean | undefined;
  readonly describedBy?: string | undefined;
}) {
  const { label, value, choices, onChange, disabled, describedBy } = props;
  const name = useId();
  return (
    <div
      role="radiogroup"
      aria-label={label}
      aria-describedby={describedBy}
      className={`inline-flex w-fit rounded-lg bg-raised p-0.5 ${disabled === true ? "opacity-60" : ""}`}
    >
      {choices.map((choice) => (
        <label
          key={choice.value}
          className="relative rounded-md px-3 py-1 text-sm text-soft has-checked:bg-surface has-checked:font-medium has-checked:text-text has-checked:shadow-sm has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name={name}
            value={choice.value}
            checked={choice.value === value}
            disabled={disabled === true}
            onChange={() => onChange(choice.value)}
            className="absolute inset-0 cursor-pointer opacity-0 disabled:cursor-not-allowed"
          />
          {choice.label}
        </label>
      ))}
    </div>
  );
}

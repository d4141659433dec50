import { Slider as RadixSlider, Switch as RadixSwitch } from "radix-ui";

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
      className="relative inline-flex h-5 w-9 shrink-0 items-center rounded-full bg-line-strong transition-colors disabled:opacity-50 data-[state=checked]:bg-accent"
    >
      <RadixSwitch.Thumb className="block size-4 translate-x-0.5 rounded-full bg-surface shadow-sm transition-transform data-[state=checked]:translate-x-4.5" />
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
      <RadixSlider.Track className="relative h-1.5 grow rounded-full bg-raised">
        <RadixSlider.Range className="absolute h-full rounded-full bg-accent" />
      </RadixSlider.Track>
      <RadixSlider.Thumb
        aria-label={label}
        aria-describedby={describedBy}
        className="block size-4 rounded-full border border-line-strong bg-surface shadow-sm transition-transform hover:scale-110"
      />
    </RadixSlider.Root>
  );
}

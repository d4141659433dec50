import { type ComponentProps, type ReactNode, useId } from "react";
import { Icon } from "./icon.tsx";

export const inputClass =
  "h-8 w-full min-w-0 rounded-lg border border-line-strong bg-surface px-2.5 text-base text-text placeholder:text-soft disabled:opacity-60 aria-invalid:border-bad";

export function TextInput({ className = "", ...rest }: ComponentProps<"input">) {
  return <input {...rest} className={`${inputClass} ${className}`} />;
}

export function SearchInput({ className = "", ...rest }: ComponentProps<"input">) {
  return (
    <div className={`relative ${className}`}>
      <span className="pointer-events-none absolute inset-y-0 left-2.5 flex items-center text-soft">
        <Icon name="search" size={14} />
      </span>
      <input type="search" {...rest} className={`${inputClass} pl-8`} />
    </div>
  );
}

export function Select({ className = "", children, ...rest }: ComponentProps<"select">) {
  return (
    <div className={`relative ${className}`}>
      <select {...rest} className={`${inputClass} appearance-none pr-7`}>
        {children}
      </select>
      <span className="pointer-events-none absolute inset-y-0 right-2 flex items-center text-soft">
        <Icon name="down" size={12} />
      </span>
    </div>
  );
}

interface Labels {
  readonly label: string;
  /** What to enter; screen readers read it with the field. */
  readonly hint?: string;
}

/** A field with its label above and its hint below. */
export function Field({
  label,
  hint,
  children,
}: Labels & {
  readonly children: (names: { readonly id: string; readonly "aria-describedby"?: string }) => ReactNode;
}) {
  const id = useId();
  const hintId = `${id}-hint`;
  return (
    <div className="flex w-full min-w-0 flex-col gap-1">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children({ id, ...(hint === undefined ? {} : { "aria-describedby": hintId }) })}
      {hint !== undefined && (
        <p id={hintId} className="text-sm text-soft">
          {hint}
        </p>
      )}
    </div>
  );
}

export function TextField({
  label,
  hint,
  onChange,
  ...rest
}: Labels &
  Omit<ComponentProps<"input">, "id" | "onChange"> & {
    readonly value: string;
    readonly onChange: (text: string) => void;
  }) {
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {(names) => (
        <TextInput
          autoComplete="off"
          {...rest}
          {...names}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}

import type { ComponentProps } from "react";
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

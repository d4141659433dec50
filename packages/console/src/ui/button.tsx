import type { ComponentProps, ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

type Look = "primary" | "plain" | "quiet" | "danger";

const looks: Readonly<Record<Look, string>> = {
  primary: "bg-accent text-on-accent hover:bg-accent-deep border-transparent",
  plain: "bg-surface text-text border-line-strong hover:bg-raised",
  quiet: "bg-transparent text-soft border-transparent hover:bg-raised hover:text-text",
  danger: "bg-surface text-bad border-line-strong hover:bg-bad-soft hover:border-bad",
};

export interface ButtonProps extends ComponentProps<"button"> {
  readonly look?: Look;
  readonly icon?: IconName;
  readonly children?: ReactNode;
}

export function Button({ look = "plain", icon, children, className = "", ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={`inline-flex h-8 shrink-0 items-center justify-center gap-1.5 rounded-lg border px-3 text-sm font-medium whitespace-nowrap transition-colors disabled:opacity-50 ${looks[look]} ${className}`}
    >
      {icon !== undefined && <Icon name={icon} size={15} />}
      {children}
    </button>
  );
}

/** A button with an icon only. The label names it for screen readers. */
export function IconButton({
  icon,
  label,
  className = "",
  ...rest
}: ComponentProps<"button"> & { readonly icon: IconName; readonly label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={`inline-flex size-8 shrink-0 items-center justify-center rounded-lg text-soft transition-colors hover:bg-raised hover:text-text disabled:opacity-50 ${className}`}
    >
      <Icon name={icon} />
    </button>
  );
}

import type { ReactNode } from "react";
import { Link } from "wouter";
import { Icon } from "./icon.tsx";

/** A link to the list that a page belongs to. Escape opens it too. */
export function BackLink({ to, children }: { readonly to: string; readonly children: ReactNode }) {
  return (
    <Link
      href={to}
      className="inline-flex items-center gap-1 self-start rounded text-sm text-soft hover:text-text"
    >
      <span className="rotate-180">
        <Icon name="chevron" size={12} />
      </span>
      {children}
    </Link>
  );
}

import type { ReactNode } from "react";
import { Icon } from "./icon.tsx";

/** A guide that came with the gateway: nothing is fetched from elsewhere. */
export function GuideLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  return (
    <a
      href={href}
      target="_blank"
      rel="noreferrer"
      className="inline-flex items-center gap-1 rounded text-accent-deep underline underline-offset-2"
    >
      {children}
      <Icon name="chevron" size={12} />
    </a>
  );
}

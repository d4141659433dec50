import type { ReactNode } from "react";
import { Link } from "wouter";
import { guideAddress } from "../shell/navigation.ts";
import { Icon } from "./icon.tsx";

/** A link to a guide that the gateway serves as a page of the console. */
export function GuideLink({ guide, children }: { readonly guide: string; readonly children: ReactNode }) {
  return (
    <Link
      href={guideAddress(guide)}
      className="inline-flex items-center gap-1 rounded text-accent-deep underline underline-offset-2"
    >
      {children}
      <Icon name="chevron" size={12} />
    </Link>
  );
}

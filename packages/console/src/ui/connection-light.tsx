import type { ReactNode } from "react";

/** Whether something has connected, for a person who waits for it. Screen readers hear each change. */
export function ConnectionLight(props: { readonly connected: boolean; readonly children: ReactNode }) {
  const { connected, children } = props;
  return (
    <p role="status" className="flex items-center gap-3">
      <span
        aria-hidden="true"
        className={`size-3 shrink-0 rounded-full border-2 ${connected ? "border-ok bg-ok" : "skeleton border-soft"}`}
      />
      <span className={`min-w-0 ${connected ? "" : "text-soft"}`}>{children}</span>
    </p>
  );
}

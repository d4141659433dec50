/** The address's hash can name a tool. Its form is then open and has the focus. */
import { useEffect, useRef, useSyncExternalStore } from "react";
import { isOverlaid } from "../../ui/keyboard.ts";

const events = ["hashchange", "popstate", "pushState"] as const;
/** Number of navigations, counted before the listeners run. */
let visits = 0;
for (const event of events) {
  window.addEventListener(event, () => {
    visits += 1;
  });
}

function onHash(changed: () => void): () => void {
  for (const event of events) window.addEventListener(event, changed);
  return () => {
    for (const event of events) window.removeEventListener(event, changed);
  };
}

/** The address hash for a tool's name. */
export function hashOf(tool: string): string {
  return `#${encodeURIComponent(tool)}`;
}

export function useHash(): string {
  return useSyncExternalStore(onHash, () => window.location.hash);
}

/** A new number whenever the address names this tool, even if it did before; `undefined` while it does not. */
export function useNamed(tool: string): number | undefined {
  return useSyncExternalStore(onHash, () => (window.location.hash === hashOf(tool) ? visits : undefined));
}

const fields = "input, select, textarea, button[role=switch], [role=slider], button[type=submit]";

/**
 * Rendered inside a form that may load late; focuses the form once it is there. While no field can be used, the tool's
 * header has the focus. The form takes it later, unless the user has moved the focus in the meantime.
 */
export function FocusField(props: {
  readonly form: string;
  readonly visit: number | undefined;
  readonly ready: boolean;
}) {
  const { form, visit, ready } = props;
  const seen = useRef<number>(undefined);
  useEffect(() => {
    if (visit === undefined) return;
    // A slider can be focused only after its first render.
    const drawn = requestAnimationFrame(() => {
      const head = headOf(form);
      if (seen.current === visit && !(ready && document.activeElement === head)) return;
      seen.current = visit;
      if (isOverlaid()) return;
      (firstField(form) ?? head)?.focus();
    });
    return () => cancelAnimationFrame(drawn);
  }, [form, visit, ready]);
  return null;
}

function firstField(form: string): HTMLElement | undefined {
  const all = document.getElementById(form)?.querySelectorAll<HTMLElement>(fields) ?? [];
  // Sliders and switches contain a hidden input: skip it.
  return [...all].find(
    (field) => field.tabIndex >= 0 && field.checkVisibility() && !field.matches(":disabled, [data-disabled]"),
  );
}

function headOf(form: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[aria-controls="${CSS.escape(form)}"]`);
}

/** The part of the address that names one tool: its form is open, and has the focus. */
import { useEffect, useRef, useSyncExternalStore } from "react";
import { isOverlaid } from "../../ui/keyboard.ts";

const events = ["hashchange", "popstate", "pushState"] as const;
/** How often somebody went somewhere; counted before anybody is told. */
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

/** The hash of a tool's name. */
export function hashOf(tool: string): string {
  return `#${encodeURIComponent(tool)}`;
}

export function useHash(): string {
  return useSyncExternalStore(onHash, () => window.location.hash);
}

/** Another number each time the address names this tool, also when it did already; `undefined` while it does not. */
export function useNamed(tool: string): number | undefined {
  return useSyncExternalStore(onHash, () => (window.location.hash === hashOf(tool) ? visits : undefined));
}

const fields = "input, select, textarea, button[role=switch], [role=slider], button[type=submit]";

/**
 * Stands inside of a form that may come late, and gives it the focus when both are there. Where nothing can be used yet
 * the head has it, and the form follows when it can, unless somebody has gone elsewhere meanwhile.
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
    // A slider can be focused only after it has been drawn once.
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
  // Sliders and switches bring a field along that nobody sees.
  return [...all].find(
    (field) => field.tabIndex >= 0 && field.checkVisibility() && !field.matches(":disabled, [data-disabled]"),
  );
}

function headOf(form: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[aria-controls="${CSS.escape(form)}"]`);
}

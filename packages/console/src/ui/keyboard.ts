/** Keyboard shortcuts: arrow keys move through a list, Escape goes back. */
import { type KeyboardEvent, useEffect } from "react";

/** Moves the focus in a list of links with the arrow keys, Home and End. */
export function walkLinks(event: KeyboardEvent<HTMLElement>): void {
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("a[href]")];
  const at = links.indexOf(document.activeElement as HTMLElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
  if (at === -1 || next === undefined) return;
  event.preventDefault();
  links[next]?.focus();
}

/** Ignores Escape while a dialog or menu is open or a field has the focus. */
export function useEscape(leave: () => void): void {
  useEffect(() => {
    const press = (event: globalThis.KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || isBusy(event.target)) return;
      leave();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [leave]);
}

/** Whether a dialog or menu is open. It then handles the keys and keeps the focus. */
export function isOverlaid(): boolean {
  return document.querySelector('[role="dialog"], [role="menu"]') !== null;
}

function isBusy(target: EventTarget | null): boolean {
  if (isOverlaid()) return true;
  return target instanceof HTMLElement && target.closest("input, textarea, select, [role='slider']") !== null;
}

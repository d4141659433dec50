/** What keys do beyond what the browser does by itself: arrows walk through a list, Escape leads back. */
import { type KeyboardEvent, useEffect } from "react";

/** For a list of links: the arrows, Home and End move the focus from one to the next. */
export function walkLinks(event: KeyboardEvent<HTMLElement>): void {
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("a[href]")];
  const at = links.indexOf(document.activeElement as HTMLElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
  if (at === -1 || next === undefined) return;
  event.preventDefault();
  links[next]?.focus();
}

/** Only where Escape closes nothing else: no dialog, no menu, no field that is being typed into. */
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

/** Whether a dialog or a menu is open: the keys are its, and whoever wants the focus comes too late. */
export function isOverlaid(): boolean {
  return document.querySelector('[role="dialog"], [role="menu"]') !== null;
}

function isBusy(target: EventTarget | null): boolean {
  if (isOverlaid()) return true;
  return target instanceof HTMLElement && target.closest("input, textarea, select, [role='slider']") !== null;
}

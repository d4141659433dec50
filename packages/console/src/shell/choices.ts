/** The user's choices in this browser. If the browser denies storage, a choice lasts until the page is closed. */
type Choice = "language" | "theme" | "density";

const lasting = new Map<Choice, string>();

export function readChoice(choice: Choice): string | null {
  try {
    return lasting.get(choice) ?? localStorage.getItem(`tendon.${choice}`);
  } catch {
    return lasting.get(choice) ?? null;
  }
}

export function writeChoice(choice: Choice, value: string): void {
  lasting.set(choice, value);
  try {
    localStorage.setItem(`tendon.${choice}`, value);
  } catch {
    // Storage denied: the choice lasts until the page is closed.
  }
}

/** What a person has chosen in this browser. Storage may be refused; then a choice lasts as long as the page. */
type Choice = "language" | "theme";

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
    // It lasts as long as the page.
  }
}

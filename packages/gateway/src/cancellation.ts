/**
 * What a caller that may give up hands along. An AbortSignal is one; the HTTP door uses a lighter one of its own,
 * because an AbortController for every request costs more than anything else it does, and nodes among themselves too.
 */
export interface Cancellation {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** The lightest one: whoever has it calls the work off. */
export class Recall implements Cancellation {
  readonly #listeners = new Set<() => void>();
  aborted = false;

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
  }
}

/**
 * The part of an AbortSignal that the gateway uses. HTTP routes and requests between nodes have lighter implementations,
 * because creating an AbortController per request costs more than the rest of their work.
 */
export interface Cancellation {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** A light implementation, which `abort` cancels. */
export class CancellationSource implements Cancellation {
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

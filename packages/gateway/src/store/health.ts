import type { StoreError } from "./store-error.ts";

/** What the store reports to its owner. */
export type StoreProblem =
  | { readonly kind: "unavailable"; readonly detail: string }
  | { readonly kind: "available" }
  /** At the start, while the database does not answer yet; reported with each attempt. */
  | { readonly kind: "waiting"; readonly detail: string; readonly waitedMs: number }
  /** Buffered rows that were dropped; `total` since the start. */
  | { readonly kind: "lost"; readonly what: string; readonly count: number; readonly total: number }
  | { readonly kind: "failed"; readonly what: string; readonly detail: string };

export type OnProblem = (problem: StoreProblem) => void;

/** Whether the database answers. Reports each change once, regardless of how many statements detect it. */
export class Health {
  readonly #onProblem: OnProblem;
  readonly #listeners = new Set<(state: "unavailable" | "available") => void>();
  #unavailable = false;

  constructor(onProblem: OnProblem) {
    this.#onProblem = onProblem;
  }

  get unavailable(): boolean {
    return this.#unavailable;
  }

  /** Called on each change, after `onProblem`. */
  onChange(listener: (state: "unavailable" | "available") => void): void {
    this.#listeners.add(listener);
  }

  answered(): void {
    if (!this.#unavailable) return;
    this.#unavailable = false;
    this.#onProblem({ kind: "available" });
    for (const listener of this.#listeners) listener("available");
  }

  failed(error: StoreError): void {
    if (error.fault !== "unavailable") {
      this.answered();
      return;
    }
    this.lost(error.reason);
  }

  lost(detail: string): void {
    if (this.#unavailable) return;
    this.#unavailable = true;
    this.#onProblem({ kind: "unavailable", detail });
    for (const listener of this.#listeners) listener("unavailable");
  }
}

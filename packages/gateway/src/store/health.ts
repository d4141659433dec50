import type { StoreError } from "./store-error.ts";

/** What the store tells its owner unasked. */
export type StoreProblem =
  | { readonly kind: "away"; readonly detail: string }
  | { readonly kind: "back" }
  /** At the start, before the first word from it; told again with each attempt. */
  | { readonly kind: "waiting"; readonly detail: string; readonly waitedMs: number }
  /** Rows that were to be written later and never will be; `total` since the start. */
  | { readonly kind: "lost"; readonly what: string; readonly count: number; readonly total: number }
  | { readonly kind: "failed"; readonly what: string; readonly detail: string };

export type OnProblem = (problem: StoreProblem) => void;

/** Whether the database answers; says so once when that changes, however many statements find out. */
export class Health {
  readonly #onProblem: OnProblem;
  readonly #listeners = new Set<(state: "away" | "back") => void>();
  #away = false;

  constructor(onProblem: OnProblem) {
    this.#onProblem = onProblem;
  }

  get away(): boolean {
    return this.#away;
  }

  /** Told whenever it changes, after the log. */
  onChange(listener: (state: "away" | "back") => void): void {
    this.#listeners.add(listener);
  }

  answered(): void {
    if (!this.#away) return;
    this.#away = false;
    this.#onProblem({ kind: "back" });
    for (const listener of this.#listeners) listener("back");
  }

  failed(error: StoreError): void {
    if (error.fault !== "unavailable") {
      this.answered();
      return;
    }
    this.lost(error.said);
  }

  lost(detail: string): void {
    if (this.#away) return;
    this.#away = true;
    this.#onProblem({ kind: "away", detail });
    for (const listener of this.#listeners) listener("away");
  }
}

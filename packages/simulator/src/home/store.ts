import type { HomeSettings } from "./settings.ts";
import { type HomeState, initialState } from "./state.ts";

/** Where a home's state lives. A state that was read stays as it was; changes make new ones. */
export interface HomeStore {
  /** As of now, with every change finished before this call. */
  read(): HomeState;
  /** What was read or written here last, without looking again. */
  last(): HomeState;
  /** Nobody else changes anything in between; the same state back means that there is nothing to keep. */
  change(change: (state: HomeState) => HomeState): HomeState;
  /**
   * The changes made inside are kept together, when it returns; it throws if that cannot be done, and none of them
   * has happened then.
   */
  together(work: () => void): void;
  close(): void;
}

/** Forgotten with the process. */
export class MemoryStore implements HomeStore {
  #state: HomeState;

  constructor(settings: HomeSettings) {
    this.#state = initialState(settings);
  }

  read(): HomeState {
    return this.#state;
  }

  last(): HomeState {
    return this.#state;
  }

  change(change: (state: HomeState) => HomeState): HomeState {
    this.#state = change(this.#state);
    return this.#state;
  }

  together(work: () => void): void {
    work();
  }

  close(): void {
    // Nothing is held.
  }
}

import type { HomeSettings } from "./settings.ts";
import { type HomeState, initialState } from "./state.ts";

/** Storage of a home's state. States are immutable; changes create new ones. */
export interface HomeStore {
  /** The current state, with every change that finished before this call. */
  read(): HomeState;
  /** The state that was last read or written, without checking again. */
  last(): HomeState;
  /** Changes the state exclusively; returning the same state writes nothing. */
  change(change: (state: HomeState) => HomeState): HomeState;
  /**
   * Writes the changes made inside together when it returns. If that fails, it throws and none of them takes effect.
   */
  together(work: () => void): void;
  close(): void;
}

/** Kept in memory only. */
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
    // Nothing to release.
  }
}

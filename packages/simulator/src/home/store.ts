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
   * If another process changed the state in between, `work` runs again from the beginning.
   */
  together(work: () => void): void;
  /** Brings the storage into its shortest form. Called when there is nothing else to do. */
  tidy(): void;
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

  tidy(): void {
    // Nothing is stored.
  }

  close(): void {
    // Nothing to release.
  }
}

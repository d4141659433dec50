import fs from "node:fs";
import path from "node:path";
import { codeOf, FileLock, type LockTiming } from "./file-lock.ts";
import { HomeStateError } from "./home-errors.ts";
import type { HomeSettings } from "./settings.ts";
import type { HomeState } from "./state.ts";
import { StateFile } from "./state-file.ts";
import type { HomeStore } from "./store.ts";

export interface FileStoreOptions {
  readonly file: string;
  readonly settings: HomeSettings;
  /** Called when an invalid state file was renamed and the home started with the defaults. */
  readonly putAside?: (backup: string) => void;
  readonly lock?: LockTiming;
}

/** How long a process that only rewrites the file in one line waits for the lock. */
const tidyPatienceMs = 20;

/**
 * The state in one file that several processes share. A read only checks whether the file has changed since the last
 * read. A change appends a line, which takes effect in the order of the lines. Where that is not possible, it takes a
 * lock, writes a new file and renames it over the old one. Readers and crashes see either the old or the new state.
 */
export class FileStore implements HomeStore {
  readonly #options: FileStoreOptions;
  readonly #path: string;
  readonly #file: StateFile;
  readonly #lock: FileLock;
  /** The content of the file while this process holds the lock. */
  #held: HomeState | undefined;
  /** The state with the changes that are not written yet. */
  #pending: HomeState | undefined;
  /** Changes are written at the end of together(). */
  #together = false;

  constructor(options: FileStoreOptions) {
    this.#options = options;
    this.#path = path.resolve(options.file);
    this.#file = new StateFile(this.#path, options.settings);
    this.#lock = new FileLock(
      `${this.#path}.lock`,
      (pid) => fs.rmSync(this.#temporary(pid), { force: true }),
      options.lock,
    );
  }

  read(): HomeState {
    return this.#pending ?? this.#look() ?? this.#recover();
  }

  last(): HomeState {
    return this.#pending ?? this.#file.state;
  }

  change(change: (state: HomeState) => HomeState): HomeState {
    for (;;) {
      const before = this.read();
      const after = change(before);
      // A change without effect is not written: it took place at the time of the read.
      if (after === before) return before;
      if (this.#pending !== undefined || (this.#together && this.#file.appendable())) {
        this.#pending = after;
        return after;
      }
      if (!this.#file.appendable()) return this.#changeLocked(change);
      if (this.#writing(() => this.#file.append(after))) {
        this.#shorten();
        return after;
      }
    }
  }

  together(work: () => void): void {
    do {
      this.#together = true;
      try {
        work();
      } catch (error) {
        this.#pending = this.#held;
        throw error;
      } finally {
        this.#together = false;
        if (this.#held !== undefined) this.#finish();
      }
    } while (!this.#appendPending());
  }

  tidy(): void {
    if (!this.#file.wasAppended) return;
    try {
      this.#look();
      // Another process may have done it.
      if (!this.#file.wasAppended) return;
      this.#acquire(tidyPatienceMs);
      this.#finish();
    } catch (error) {
      // The lines remain in the file, and the next process reads them.
      if (!(error instanceof HomeStateError)) throw error;
    }
  }

  close(): void {
    this.tidy();
    this.#file.close();
  }

  #look(): HomeState | undefined {
    try {
      return this.#file.look();
    } catch (error) {
      throw this.#explain("state_unreadable", "cannot be read", error);
    }
  }

  /** False if another process changed the file in between, and nothing was written. */
  #appendPending(): boolean {
    const after = this.#pending;
    if (after === undefined) return true;
    this.#pending = undefined;
    if (!this.#writing(() => this.#file.append(after))) return false;
    this.#shorten();
    return true;
  }

  #shorten(): void {
    if (this.#file.isLong) this.tidy();
  }

  #changeLocked(change: (state: HomeState) => HomeState): HomeState {
    this.#acquire();
    try {
      this.#pending = change(this.read());
      return this.#pending;
    } finally {
      if (!this.#together) this.#finish();
    }
  }

  #recover(): HomeState {
    this.#acquire();
    if (!this.#together) this.#finish();
    return this.last();
  }

  #acquire(patienceMs?: number): void {
    this.#writing(() => this.#lock.acquire(patienceMs));
    try {
      this.#held = this.#writing(() => this.#lookAlone());
      this.#pending = this.#held;
    } finally {
      if (this.#held === undefined) this.#lock.release();
    }
  }

  /** The state after which no process appends. */
  #lookAlone(): HomeState {
    for (;;) {
      const state = this.#look() ?? this.#startAnew();
      if (!this.#file.appendable() || this.#file.end()) return state;
    }
  }

  /** Writes the changes, if any, and releases the lock. */
  #finish(): void {
    const held = this.#held;
    const state = this.#pending;
    this.#held = undefined;
    this.#pending = undefined;
    try {
      if (state !== undefined && (state !== held || this.#file.isEnded))
        this.#writing(() => this.#replace(state));
    } finally {
      this.#lock.release();
    }
  }

  /** Renames an invalid file and starts with the defaults. Runs under the lock, after reading again. */
  #startAnew(): HomeState {
    const backup = freeName(`${this.#path}.broken`);
    fs.renameSync(this.#path, backup);
    this.#file.forget();
    this.#options.putAside?.(backup);
    return this.#file.state;
  }

  #replace(state: HomeState): void {
    this.#file.replace(state, this.#temporary(process.pid), () => {
      if (!this.#lock.stillMine)
        throw new HomeStateError("state_locked", this.#path, `${this.#path} took too long to write`);
    });
  }

  #writing<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw this.#explain("state_unwritable", "cannot be written", error);
    }
  }

  #temporary(pid: number): string {
    return `${this.#path}.${pid}.tmp`;
  }

  /** Converts file system errors; other errors are passed on unchanged. */
  #explain(code: "state_unreadable" | "state_unwritable", what: string, error: unknown): unknown {
    if (error instanceof HomeStateError || codeOf(error) === undefined) return error;
    const reason = error instanceof Error ? error.message : String(error);
    return new HomeStateError(code, this.#path, `${this.#path} ${what}: ${reason}`, { cause: error });
  }
}

function freeName(wanted: string): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}-${number}`;
    if (!fs.existsSync(name)) return name;
  }
}

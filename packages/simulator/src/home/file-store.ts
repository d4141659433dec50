import fs from "node:fs";
import path from "node:path";
import { codeOf, FileLock, type LockTiming } from "./file-lock.ts";
import { HomeStateError } from "./home-errors.ts";
import type { HomeSettings } from "./settings.ts";
import { type HomeState, initialState } from "./state.ts";
import { readState, writeState } from "./state-text.ts";
import type { HomeStore } from "./store.ts";

export interface FileStoreOptions {
  readonly file: string;
  readonly settings: HomeSettings;
  /** Called when an invalid state file was renamed and the home started with the defaults. */
  readonly putAside?: (backup: string) => void;
  readonly lock?: LockTiming;
}

/** One version of the file. It is kept open, so that the system does not reuse its inode. */
interface Seen {
  readonly handle: number;
  readonly inode: number;
  readonly modified: number;
  readonly size: number;
}

/**
 * The state in one file that several processes share. A read only checks whether the file has changed since the last
 * read. A change takes a lock, writes a new file and renames it over the old one, so that readers and crashes see either
 * the old or the new state.
 */
export class FileStore implements HomeStore {
  readonly #options: FileStoreOptions;
  readonly #file: string;
  readonly #initial: HomeState;
  readonly #lock: FileLock;
  #state: HomeState;
  #seen: Seen | undefined;
  /** The content of the file while this process holds the lock. */
  #held: HomeState | undefined;
  /** Changes are written at the end of together(). */
  #together = false;

  constructor(options: FileStoreOptions) {
    this.#options = options;
    this.#file = path.resolve(options.file);
    this.#initial = initialState(options.settings);
    this.#state = this.#initial;
    this.#lock = new FileLock(
      `${this.#file}.lock`,
      (pid) => fs.rmSync(this.#temporary(pid), { force: true }),
      options.lock,
    );
  }

  read(): HomeState {
    return this.#held === undefined ? (this.#look() ?? this.#recover()) : this.#state;
  }

  last(): HomeState {
    return this.#state;
  }

  change(change: (state: HomeState) => HomeState): HomeState {
    const before = this.read();
    // A change without effect needs no lock: it took place at the time of the read.
    if (change(before) === before) return before;
    if (this.#held === undefined) this.#acquire();
    try {
      this.#state = change(this.#state);
    } finally {
      if (!this.#together) this.#finish();
    }
    return this.#state;
  }

  together(work: () => void): void {
    this.#together = true;
    try {
      work();
    } catch (error) {
      this.#state = this.#held ?? this.#state;
      throw error;
    } finally {
      this.#together = false;
      this.#finish();
    }
  }

  close(): void {
    this.#remember(undefined);
  }

  /** `undefined` for an existing file with an invalid state. */
  #look(): HomeState | undefined {
    try {
      const found = fs.statSync(this.#file, { throwIfNoEntry: false });
      const seen = this.#seen;
      if (found === undefined) {
        if (seen !== undefined || this.#state !== this.#initial) this.#begin();
        return this.#state;
      }
      if (
        seen !== undefined &&
        found.ino === seen.inode &&
        found.mtimeMs === seen.modified &&
        found.size === seen.size
      ) {
        return this.#state;
      }
      return this.#load();
    } catch (error) {
      throw this.#explain("state_unreadable", "cannot be read", error);
    }
  }

  #begin(): void {
    this.#remember(undefined);
    this.#state = this.#initial;
  }

  #load(): HomeState | undefined {
    const handle = fs.openSync(this.#file, "r");
    let kept = false;
    try {
      const { ino, mtimeMs, size } = fs.fstatSync(handle);
      const state = readState(fs.readFileSync(handle, "utf8"), this.#options.settings, this.#file);
      if (state === undefined) return undefined;
      this.#remember({ handle, inode: ino, modified: mtimeMs, size });
      kept = true;
      this.#state = state;
      return state;
    } finally {
      if (!kept) fs.closeSync(handle);
    }
  }

  #remember(seen: Seen | undefined): void {
    if (this.#seen !== undefined) fs.closeSync(this.#seen.handle);
    this.#seen = seen;
  }

  #recover(): HomeState {
    this.#acquire();
    if (!this.#together) this.#finish();
    return this.#state;
  }

  #acquire(): void {
    this.#writing(() => this.#lock.acquire());
    try {
      this.#held = this.#writing(() => this.#look() ?? this.#startAnew());
    } finally {
      if (this.#held === undefined) this.#lock.release();
    }
  }

  /** Writes the changes, if any, and releases the lock. */
  #finish(): void {
    const held = this.#held;
    if (held === undefined) return;
    this.#held = undefined;
    try {
      if (this.#state !== held) this.#writing(() => this.#replace(this.#state));
    } catch (error) {
      this.#state = held;
      throw error;
    } finally {
      this.#lock.release();
    }
  }

  /** Renames an invalid file and starts with the defaults. Runs under the lock, after reading again. */
  #startAnew(): HomeState {
    const backup = freeName(`${this.#file}.broken`);
    fs.renameSync(this.#file, backup);
    this.#begin();
    this.#options.putAside?.(backup);
    return this.#state;
  }

  /** Replaces the file atomically. */
  #replace(state: HomeState): void {
    const temporary = this.#temporary(process.pid);
    const handle = fs.openSync(temporary, "w+");
    let kept = false;
    try {
      fs.writeFileSync(handle, writeState(state));
      const { ino, mtimeMs, size } = fs.fstatSync(handle);
      if (!this.#lock.stillMine)
        throw new HomeStateError("state_locked", this.#file, `${this.#file} took too long to write`);
      fs.renameSync(temporary, this.#file);
      this.#remember({ handle, inode: ino, modified: mtimeMs, size });
      kept = true;
    } finally {
      if (!kept) {
        fs.closeSync(handle);
        fs.rmSync(temporary, { force: true });
      }
    }
  }

  #writing<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw this.#explain("state_unwritable", "cannot be written", error);
    }
  }

  #temporary(pid: number): string {
    return `${this.#file}.${pid}.tmp`;
  }

  /** Converts file system errors; other errors are passed on unchanged. */
  #explain(code: "state_unreadable" | "state_unwritable", what: string, error: unknown): unknown {
    if (error instanceof HomeStateError || codeOf(error) === undefined) return error;
    const reason = error instanceof Error ? error.message : String(error);
    return new HomeStateError(code, this.#file, `${this.#file} ${what}: ${reason}`, { cause: error });
  }
}

function freeName(wanted: string): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}-${number}`;
    if (!fs.existsSync(name)) return name;
  }
}

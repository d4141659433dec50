import fs from "node:fs";
import path from "node:path";
import type { HomeSettings } from "./settings.ts";
import { type HomeState, initialState } from "./state.ts";
import { changeLine, endLine, followLog, looksAppended, readLog } from "./state-log.ts";
import { writeState } from "./state-text.ts";

/** The file is rewritten when its changes are longer than this, about a thousand of them. */
const maxChangesBytes = 64 * 1024;

/** Ends an incomplete line of a killed process, so that it never counts, even if only its newline was missing. */
const spoiler = "!\n";

/**
 * File systems where two machines may append at the same position, by the type that statfs(2) reports: NFS, SMB, CIFS,
 * SMB2, 9P, FUSE, Ceph and AFS.
 */
const sharedFileSystems = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x65735546, 0x00c36400, 0x5346414f,
]);

/** One version of the file. It is kept open, so that the system does not reuse its inode. */
interface Seen {
  readonly handle: number;
  readonly inode: number;
  /** The end of the first line; `undefined` for a file that cannot be appended to. */
  readonly base: number | undefined;
  modified: number;
  size: number;
  /** The end of the last complete line. */
  complete: number;
  /** Another process is replacing the file, or died while it did. */
  ended: boolean;
  /** Handle for appending; `undefined` until it is needed. */
  appender: number | undefined;
}

/** The state file as this process knows it. Reading and appending need no lock; replacing does. */
export class StateFile {
  readonly #file: string;
  readonly #settings: HomeSettings;
  readonly #initial: HomeState;
  /** Whether only this machine appends to the file, so that the system decides the order. Known after the first look. */
  #local: boolean | undefined;
  #state: HomeState;
  #seen: Seen | undefined;
  /** Whether this process has appended to this version of the file. */
  #appended = false;

  constructor(file: string, settings: HomeSettings) {
    this.#file = file;
    this.#settings = settings;
    this.#initial = initialState(settings);
    this.#state = this.#initial;
  }

  /** The state that was last read or written. */
  get state(): HomeState {
    return this.#state;
  }

  get wasAppended(): boolean {
    return this.#appended;
  }

  get isEnded(): boolean {
    return this.#seen?.ended === true;
  }

  get isLong(): boolean {
    const { size, base = size } = this.#seen ?? { size: 0 };
    return size - base > maxChangesBytes;
  }

  /** The current state. `undefined` for an existing file with an invalid state. */
  look(): HomeState | undefined {
    const found = fs.statSync(this.#file, { throwIfNoEntry: false });
    const seen = this.#seen;
    if (found === undefined) {
      if (seen !== undefined || this.#state !== this.#initial) this.forget();
      return this.#state;
    }
    if (seen === undefined || found.ino !== seen.inode) return this.#load();
    if (found.size === seen.size) return found.mtimeMs === seen.modified ? this.#state : this.#load();
    return found.size > seen.size && this.#follow(seen, found) ? this.#state : this.#load();
  }

  /** Starts with the defaults, as without a file. */
  forget(): void {
    this.#remember(undefined);
    this.#state = this.#initial;
  }

  close(): void {
    this.#remember(undefined);
  }

  /** Whether a change may be appended. Looks at the version of the last `look()`. */
  appendable(): boolean {
    const seen = this.#seen;
    if (seen?.base === undefined || seen.ended || !this.#isLocal) return false;
    return seen.appender !== undefined || this.#openAppender(seen);
  }

  /** Appends a change. False if another process changed the file since the last `look()`: nothing was changed. */
  append(after: HomeState): boolean {
    const seen = this.#appending();
    const line = changeLine(startOf(seen), this.#state, after);
    if (line !== "" && !this.#write(seen, line)) return false;
    this.#state = after;
    this.#appended ||= line !== "";
    return true;
  }

  /** Appends the line after which no process appends. False as in `append`. */
  end(): boolean {
    const seen = this.#appending();
    seen.ended = this.#write(seen, endLine(startOf(seen)));
    return seen.ended;
  }

  /** Replaces the file atomically with one line. `commit` is called just before it takes effect. */
  replace(state: HomeState, temporary: string, commit: () => void): void {
    const { O_RDWR, O_CREAT, O_TRUNC, O_APPEND } = fs.constants;
    const handle = fs.openSync(temporary, O_RDWR | O_CREAT | O_TRUNC | O_APPEND);
    let kept = false;
    try {
      fs.writeFileSync(handle, writeState(state));
      const { ino, mtimeMs, size } = fs.fstatSync(handle);
      commit();
      fs.renameSync(temporary, this.#file);
      this.#remember({
        handle,
        inode: ino,
        base: size,
        modified: mtimeMs,
        size,
        complete: size,
        ended: false,
        appender: this.#isLocal ? handle : undefined,
      });
      kept = true;
      this.#state = state;
    } finally {
      if (!kept) {
        fs.closeSync(handle);
        fs.rmSync(temporary, { force: true });
      }
    }
  }

  #load(): HomeState | undefined {
    const handle = fs.openSync(this.#file, "r");
    let kept = false;
    try {
      const { ino, mtimeMs } = fs.fstatSync(handle);
      const bytes = fs.readFileSync(handle);
      const log = readLog(bytes, this.#settings, this.#file);
      if (log === undefined) return undefined;
      const { state, base, complete, ended } = log;
      const size = bytes.length;
      this.#remember({
        handle,
        inode: ino,
        base,
        modified: mtimeMs,
        size,
        complete,
        ended,
        appender: undefined,
      });
      kept = true;
      this.#state = state;
      return state;
    } finally {
      if (!kept) fs.closeSync(handle);
    }
  }

  /** Reads the lines that were appended. False if the file was changed in another way. */
  #follow(seen: Seen, { size, mtimeMs }: fs.Stats): boolean {
    if (seen.base === undefined) return false;
    const bytes = Buffer.allocUnsafe(size - seen.complete);
    const count = fs.readSync(seen.handle, bytes, 0, bytes.length, seen.complete);
    if (count < bytes.length || !looksAppended(bytes)) return false;
    if (!seen.ended) {
      const known = { state: this.#state, settings: this.#settings, file: this.#file };
      const { state, complete, ended } = followLog(bytes, seen.complete, known);
      Object.assign(seen, { complete, ended });
      this.#state = state;
    }
    Object.assign(seen, { size, modified: mtimeMs });
    return true;
  }

  #openAppender(seen: Seen): boolean {
    try {
      const appender = fs.openSync(this.#file, fs.constants.O_WRONLY | fs.constants.O_APPEND);
      // Another process may have replaced the file. The next look notices it.
      if (fs.fstatSync(appender).ino === seen.inode) {
        seen.appender = appender;
        return true;
      }
      fs.closeSync(appender);
    } catch {
      // Read-only: the file can only be replaced.
    }
    return false;
  }

  get #isLocal(): boolean {
    this.#local ??=
      process.platform === "linux" && !sharedFileSystems.has(fs.statfsSync(path.dirname(this.#file)).type);
    return this.#local;
  }

  #appending(): Seen & { readonly appender: number } {
    const seen = this.#seen;
    if (seen?.appender === undefined) throw new TypeError("the file cannot be appended to");
    return seen as Seen & { readonly appender: number };
  }

  /** Whether the text is in the expected place, where it counts. */
  #write(seen: Seen & { readonly appender: number }, line: string): boolean {
    const torn = seen.complete < seen.size;
    const text = torn ? `${spoiler}${line}` : line;
    const bytes = Buffer.byteLength(text);
    const written = fs.writeSync(seen.appender, text);
    const from = seen.size;
    if (written < bytes)
      throw Object.assign(new Error(`only ${written} of ${bytes} bytes written`), { code: "ENOSPC" });
    // A process that replaces the file reads this line before, if it is in its place.
    const { size, mtimeMs } = fs.fstatSync(seen.appender);
    const isLast = size === from + bytes;
    if (!isLast && !this.#isAt(seen.handle, from, text)) return false;
    seen.size = from + bytes;
    seen.complete = seen.size;
    // Lines of others that follow are read by the next look.
    if (isLast) seen.modified = mtimeMs;
    return true;
  }

  #isAt(handle: number, position: number, text: string): boolean {
    const expected = Buffer.from(text);
    const found = Buffer.allocUnsafe(expected.length);
    return fs.readSync(handle, found, 0, found.length, position) === found.length && found.equals(expected);
  }

  #remember(seen: Seen | undefined): void {
    const old = this.#seen;
    if (old !== undefined) {
      if (old.appender !== undefined && old.appender !== old.handle) fs.closeSync(old.appender);
      fs.closeSync(old.handle);
    }
    this.#seen = seen;
    this.#appended = false;
  }
}

function startOf({ complete, size }: Seen): number {
  return complete < size ? size + spoiler.length : size;
}

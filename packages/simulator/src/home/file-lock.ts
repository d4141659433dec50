/**
 * A lock between processes. It is a symbolic link whose target names its owner. The link and the name are created in one
 * step, so a lock always has an owner. It is held for well under a millisecond. A dead owner is detected by its process
 * id, a hanging one by the lock's age.
 */
import fs from "node:fs";
import { HomeStateError } from "./home-errors.ts";

export interface LockTiming {
  /** How long to wait for the lock. */
  readonly patienceMs: number;
  /** A lock older than this is taken over from any owner. */
  readonly abandonedMs: number;
}

const usual: LockTiming = { patienceMs: 5_000, abandonedMs: 10_000 };

interface OwnName {
  readonly host: string;
  readonly name: string;
}

let known: OwnName | undefined;

/** These modules are loaded with the first lock, because loading them takes longer than the rest of the start. */
function self(): OwnName {
  if (known !== undefined) return known;
  const host = process.getBuiltinModule("node:os").hostname();
  const { threadId } = process.getBuiltinModule("node:worker_threads");
  known = { host, name: `${process.pid}.${threadId}@${host}` };
  return known;
}

const pause = new Int32Array(new SharedArrayBuffer(4));

export class FileLock {
  readonly #path: string;
  readonly #timing: LockTiming;
  /** Called with the process id of a dead owner, to clean up its files. */
  readonly #bury: (pid: number) => void;
  #since = 0;

  constructor(path: string, bury: (pid: number) => void, timing: LockTiming = usual) {
    this.#path = path;
    this.#bury = bury;
    this.#timing = timing;
  }

  acquire(patienceMs = this.#timing.patienceMs): void {
    this.#since = this.#wait(patienceMs);
  }

  /** Checked just before a change is committed, because another process may have taken over after a long time. */
  get stillMine(): boolean {
    return performance.now() - this.#since < this.#timing.abandonedMs / 2;
  }

  release(): void {
    if (this.stillMine) remove(this.#path);
  }

  #wait(patienceMs: number): number {
    const started = performance.now();
    let waitMs = 0.05;
    for (;;) {
      const since = performance.now();
      if (take(this.#path)) return since;
      if (since - started > patienceMs) throw this.#busy();
      if (this.#isOrphan(this.#path)) this.#takeAway();
      else {
        // Everything is synchronous, including the waiting, because answers are sent in order anyway.
        Atomics.wait(pause, 0, 0, waitMs * (0.5 + Math.random()));
        waitMs = Math.min(waitMs * 1.5, 2);
      }
    }
  }

  /**
   * Only one process at a time may remove an abandoned lock, and it checks again first. Otherwise two processes that saw
   * the same abandoned lock could remove each other's new lock.
   */
  #takeAway(): void {
    const guard = `${this.#path}.orphan`;
    if (!take(guard)) {
      if (this.#isOrphan(guard)) remove(guard);
      return;
    }
    try {
      const pid = ownerOf(this.#path)?.pid;
      if (!this.#isOrphan(this.#path)) return;
      if (pid !== undefined) this.#bury(pid);
      remove(this.#path);
    } finally {
      remove(guard);
    }
  }

  #isOrphan(path: string): boolean {
    const owner = ownerOf(path);
    if (owner === undefined) return false;
    if (Date.now() - owner.since > this.#timing.abandonedMs) return true;
    // In a container every start may have the same process id, so an earlier run may have left the lock.
    const { host, name } = self();
    if (owner.name === name) return true;
    return owner.host === host && owner.pid !== undefined && !isAlive(owner.pid);
  }

  #busy(): HomeStateError {
    const owner = ownerOf(this.#path);
    const who = owner?.pid === undefined ? "another process" : `process ${owner.pid}`;
    return new HomeStateError("state_locked", this.#path, `${this.#path} is held by ${who}`);
  }
}

interface Owner {
  readonly name: string;
  readonly pid: number | undefined;
  readonly host: string;
  readonly since: number;
}

function take(path: string): boolean {
  try {
    fs.symlinkSync(self().name, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    if (codeOf(error) !== "EPERM" && codeOf(error) !== "ENOSYS") throw error;
  }
  // Without symbolic links (some network and memory-card file systems, Windows), use a file.
  try {
    fs.writeFileSync(path, self().name, { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** `undefined` if the lock is free. */
function ownerOf(path: string): Owner | undefined {
  try {
    const found = fs.lstatSync(path);
    const name = found.isSymbolicLink() ? fs.readlinkSync(path) : fs.readFileSync(path, "utf8");
    const [, pid, onHost = ""] = /^(\d+)\.\d+@(.*)$/.exec(name) ?? [];
    return { name, pid: pid === undefined ? undefined : Number(pid), host: onHost, since: found.mtimeMs };
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "EINVAL") return undefined;
    throw error;
  }
}

function remove(path: string): void {
  try {
    fs.unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // No permission to signal it, so the process is alive.
    return codeOf(error) === "EPERM";
  }
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

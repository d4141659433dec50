/**
 * One process at a time. The lock is a symbolic link whose target names its owner: made in one step together with
 * that name, so that nobody ever finds a lock without one. It is held for well under a millisecond; an owner that
 * died is told by its process id, one that hangs by the lock's age.
 */
import fs from "node:fs";
import os from "node:os";
import { threadId } from "node:worker_threads";
import { HomeStateError } from "./home-errors.ts";

export interface LockTiming {
  /** How long to wait for others before giving up. */
  readonly patienceMs: number;
  /** A lock older than this is taken over, whoever it belongs to. */
  readonly abandonedMs: number;
}

const usual: LockTiming = { patienceMs: 5_000, abandonedMs: 10_000 };
const host = os.hostname();
const ownName = `${process.pid}.${threadId}@${host}`;
const pause = new Int32Array(new SharedArrayBuffer(4));

export class FileLock {
  readonly #path: string;
  readonly #timing: LockTiming;
  /** Called with the process id of an owner that died, for what it may have left behind. */
  readonly #bury: (pid: number) => void;
  #since = 0;

  constructor(path: string, bury: (pid: number) => void, timing: LockTiming = usual) {
    this.#path = path;
    this.#bury = bury;
    this.#timing = timing;
  }

  acquire(): void {
    this.#since = this.#wait();
  }

  /** To be asked just before a change is made final: after too long somebody else may have taken over. */
  get stillMine(): boolean {
    return performance.now() - this.#since < this.#timing.abandonedMs / 2;
  }

  release(): void {
    if (this.stillMine) remove(this.#path);
  }

  #wait(): number {
    const started = performance.now();
    let waitMs = 0.05;
    for (;;) {
      const since = performance.now();
      if (take(this.#path)) return since;
      if (since - started > this.#timing.patienceMs) throw this.#busy();
      if (this.#isOrphan(this.#path)) this.#takeAway();
      else {
        // The whole step is synchronous, and so is the waiting: answers go out in order anyway.
        Atomics.wait(pause, 0, 0, waitMs * (0.5 + Math.random()));
        waitMs = Math.min(waitMs * 1.5, 2);
      }
    }
  }

  /**
   * Only one process at a time may take an orphan away, and it looks again first: otherwise two that saw the same
   * orphan could take away each other's fresh lock.
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
    // Where every start has the same process id (a container), an earlier life of this process may have left it.
    if (owner.name === ownName) return true;
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
    fs.symlinkSync(ownName, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    if (codeOf(error) !== "EPERM" && codeOf(error) !== "ENOSYS") throw error;
  }
  // Where there are no symbolic links (some network and memory-card file systems, Windows) a file does nearly as well.
  try {
    fs.writeFileSync(path, ownName, { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** `undefined` if nobody holds it any more. */
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
    // Somebody else's process is alive, too.
    return codeOf(error) === "EPERM";
  }
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

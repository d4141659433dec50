/**
 * Supervises a program: starts it with a minimal environment, stops it by request, then SIGTERM, then SIGKILL, and
 * restarts it after a growing, randomised pause. `ProcessUser` handles its input and output. The program has a process
 * group of its own, so that what it started ends with it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Clock, Timer } from "../clock.ts";
import { messageOf } from "../errors.ts";

export interface ProcessSettings {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly restart: "always" | "on-failure" | "never";
}

export interface ProcessPipes {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/** Uses the process from its start to its end. */
export interface ProcessUser {
  /** The process has started. `ended` is called once, when it ends. */
  started(pipes: ProcessPipes): void;
  /** Asks the process to exit, in its own protocol. A process that does not exit is killed. */
  requestExit(): void;
  ended(reason: string): void;
}

type State =
  | { readonly kind: "stopped" }
  | { readonly kind: "running"; readonly child: ChildProcess; readonly since: number }
  | { readonly kind: "ending"; readonly child: ChildProcess }
  | { readonly kind: "pausing"; readonly timer: Timer };

const firstPauseMs = 500;
const maxPauseMs = 60_000;
/** A process that ran for this long is stable: the next pause is short again. */
const stableAfterMs = 30_000;
const exitGraceMs = 800;
const terminateMs = 600;
/** How long the output of a process that has exited is still read. A program that it started may hold the pipes open. */
const lastOutputMs = 500;

export class SupervisedProcess {
  readonly #settings: ProcessSettings;
  readonly #user: ProcessUser;
  readonly #clock: Clock;
  readonly #random: () => number;
  #state: State = { kind: "stopped" };
  #pauseMs = firstPauseMs;
  #stopping = false;
  #onEnded: (() => void) | undefined;

  constructor(settings: ProcessSettings, user: ProcessUser, clock: Clock, random: () => number) {
    this.#settings = settings;
    this.#user = user;
    this.#clock = clock;
    this.#random = random;
  }

  start(environment: Readonly<Record<string, string>>): void {
    this.#run({ ...environment, ...this.#settings.env });
  }

  /** Kills the process. It is restarted if its policy says so. */
  kill(): void {
    if (this.#state.kind === "running") killGroup(this.#state.child);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const state = this.#state;
    if (state.kind === "pausing") state.timer.cancel();
    if (state.kind !== "running") return;
    const { child } = state;
    this.#state = { kind: "ending", child };
    const exited = new Promise<void>((resolve) => {
      this.#onEnded = resolve;
    });
    this.#user.requestExit();
    const timers = [
      this.#clock.after(exitGraceMs, () => child.kill("SIGTERM")),
      this.#clock.after(exitGraceMs + terminateMs, () => killGroup(child)),
    ];
    await exited;
    for (const timer of timers) timer.cancel();
  }

  #run(env: Record<string, string>): void {
    const { command, args, cwd } = this.#settings;
    const child = spawn(command, [...args], { env, cwd, stdio: ["pipe", "pipe", "pipe"], detached: true });
    this.#state = { kind: "running", child, since: this.#clock.monotonic() };
    let failure: string | undefined;
    child.on("error", (error) => {
      failure = `the command cannot be run (${messageOf(error)})`;
      // A command that does not exist has no process, so `close` never comes.
      if (child.pid === undefined) this.#ended(env, failure, false);
    });
    // A broken pipe raises an error. The end of the process is handled by `close`.
    child.stdin.on("error", () => undefined);
    const end = (code: number | null, signal: NodeJS.Signals | null) => {
      const reason =
        failure ??
        (signal === null ? `the process exited with code ${code}` : `the process was ended by ${signal}`);
      this.#ended(env, reason, code === 0);
    };
    child.on("exit", (code, signal) => {
      const late = this.#clock.after(lastOutputMs, () => {
        for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
        end(code, signal);
      });
      child.once("close", () => late.cancel());
      killGroup(child);
    });
    child.on("close", end);
    if (child.pid !== undefined) this.#user.started(child);
  }

  #ended(env: Record<string, string>, reason: string, cleanly: boolean): void {
    const state = this.#state;
    if (state.kind !== "running" && state.kind !== "ending") return;
    this.#state = { kind: "stopped" };
    this.#user.ended(reason);
    this.#onEnded?.();
    const { restart } = this.#settings;
    if (this.#stopping || restart === "never" || (restart === "on-failure" && cleanly)) return;
    const stable = state.kind === "running" && this.#clock.monotonic() - state.since >= stableAfterMs;
    const pause = stable ? firstPauseMs : this.#pauseMs;
    this.#pauseMs = Math.min(pause * 2, maxPauseMs);
    const timer = this.#clock.after(pause * (0.5 + this.#random()), () => this.#run(env));
    this.#state = { kind: "pausing", timer };
  }
}

/** Ends the process and everything that it started. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // All have ended, or the system has no process groups.
    child.kill("SIGKILL");
  }
}

/**
 * A program that is kept running: started with a small environment of its own, watched, ended politely and then
 * firmly, started again after a growing, uneven pause. What it says is somebody else's business.
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

/** What runs on top of the process, from its start to its end. */
export interface ProcessUser {
  /** The process has been started; its end is told by `ended`, once. */
  started(pipes: ProcessPipes): void;
  /** Asks it to go in its own words; what does not go is ended. */
  farewell(): void;
  ended(reason: string): void;
}

type State =
  | { readonly kind: "stopped" }
  | { readonly kind: "running"; readonly child: ChildProcess; readonly since: number }
  | { readonly kind: "ending"; readonly child: ChildProcess }
  | { readonly kind: "pausing"; readonly timer: Timer };

const firstPauseMs = 500;
const longestPauseMs = 60_000;
/** A process that ran for this long has recovered: the next pause is short again. */
const steadyAfterMs = 30_000;
const farewellMs = 800;
const terminateMs = 600;

export class SupervisedProcess {
  readonly #settings: ProcessSettings;
  readonly #user: ProcessUser;
  readonly #clock: Clock;
  readonly #random: () => number;
  #state: State = { kind: "stopped" };
  #pauseMs = firstPauseMs;
  #stopping = false;

  constructor(settings: ProcessSettings, user: ProcessUser, clock: Clock, random: () => number) {
    this.#settings = settings;
    this.#user = user;
    this.#clock = clock;
    this.#random = random;
  }

  start(environment: Readonly<Record<string, string>>): void {
    this.#run({ ...environment, ...this.#settings.env });
  }

  /** Ends the process, whatever it is doing; a fresh one is started if its policy says so. */
  kill(): void {
    if (this.#state.kind !== "running") return;
    this.#state.child.kill("SIGKILL");
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const state = this.#state;
    if (state.kind === "pausing") state.timer.cancel();
    if (state.kind !== "running") return;
    const { child } = state;
    this.#state = { kind: "ending", child };
    const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
    this.#user.farewell();
    const timers = [
      this.#clock.after(farewellMs, () => child.kill("SIGTERM")),
      this.#clock.after(farewellMs + terminateMs, () => child.kill("SIGKILL")),
    ];
    await gone;
    for (const timer of timers) timer.cancel();
  }

  #run(env: Record<string, string>): void {
    const { command, args, cwd } = this.#settings;
    const child = spawn(command, [...args], { env, cwd, stdio: ["pipe", "pipe", "pipe"] });
    this.#state = { kind: "running", child, since: this.#clock.monotonic() };
    let failure: string | undefined;
    child.on("error", (error) => {
      failure = `it cannot be run (${messageOf(error)})`;
      // A command that does not exist has no process, and so no `close` either.
      if (child.pid === undefined) this.#ended(env, failure, false);
    });
    // A pipe whose other end has gone tells it by an error; the end of the process is what counts.
    child.stdin.on("error", () => undefined);
    child.on("close", (code, signal) => {
      const reason =
        failure ?? (signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`);
      this.#ended(env, reason, code === 0);
    });
    if (child.pid !== undefined) this.#user.started(child);
  }

  #ended(env: Record<string, string>, reason: string, cleanly: boolean): void {
    const state = this.#state;
    if (state.kind !== "running" && state.kind !== "ending") return;
    this.#state = { kind: "stopped" };
    this.#user.ended(reason);
    const { restart } = this.#settings;
    if (this.#stopping || restart === "never" || (restart === "on-failure" && cleanly)) return;
    const steady = state.kind === "running" && this.#clock.monotonic() - state.since >= steadyAfterMs;
    const pause = steady ? firstPauseMs : this.#pauseMs;
    this.#pauseMs = Math.min(pause * 2, longestPauseMs);
    const timer = this.#clock.after(pause * (0.5 + this.#random()), () => this.#run(env));
    this.#state = { kind: "pausing", timer };
  }
}

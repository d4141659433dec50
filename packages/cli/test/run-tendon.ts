/** Runs the real command as users do: as its own process in its own folder. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const bin = fileURLToPath(new URL("../bin/tendon.js", import.meta.url));
const timeoutMs = 60_000;

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
}

/** Only the variables that a command needs, so that settings of the shell do not reach it. */
function environment(extra: Record<string, string> = {}): Record<string, string> {
  const { PATH = "", HOME = "" } = process.env;
  return { PATH, HOME, ...extra };
}

export class RunningTendon {
  readonly #child: ChildProcess;
  readonly #watchers = new Set<() => void>();
  readonly #ended: Promise<number | null>;
  /** The process has ended and all its output has been read. */
  #closed = false;
  stdout = "";
  stderr = "";

  constructor(args: readonly string[], options: RunOptions, program = bin) {
    this.#child = spawn(process.execPath, [program, ...args], {
      cwd: options.cwd,
      env: environment(options.env),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stdout?.on("data", (chunk: Buffer) => this.#take("stdout", chunk));
    this.#child.stderr?.on("data", (chunk: Buffer) => this.#take("stderr", chunk));
    this.#ended = once(this.#child, "close").then(([code]) => {
      this.#closed = true;
      for (const watcher of this.#watchers) watcher();
      return code as number | null;
    });
  }

  /** Resolves with the match as soon as the output has it. */
  async until(stream: "stdout" | "stderr", pattern: RegExp): Promise<RegExpExecArray> {
    return await new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        this.#watchers.delete(look);
        settle();
      };
      const look = () => {
        const match = pattern.exec(this[stream]);
        if (match !== null) finish(() => resolve(match));
        else if (this.#closed) finish(() => reject(this.#failure(pattern, "ended")));
      };
      const timer = setTimeout(
        () => finish(() => reject(this.#failure(pattern, "timed out waiting"))),
        timeoutMs,
      );
      this.#watchers.add(look);
      look();
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<Finished> {
    this.#child.kill(signal);
    return await this.finished();
  }

  async finished(): Promise<Finished> {
    const code = await this.#ended;
    return { code, stdout: this.stdout, stderr: this.stderr };
  }

  #take(stream: "stdout" | "stderr", chunk: Buffer): void {
    this[stream] += chunk.toString();
    for (const watcher of this.#watchers) watcher();
  }

  #failure(pattern: RegExp, what: string): TypeError {
    return new TypeError(`${what} for ${pattern}\nstdout: ${this.stdout}\nstderr: ${this.stderr}`);
  }
}

export function start(args: readonly string[], options: RunOptions = {}): RunningTendon {
  return new RunningTendon(args, options);
}

export async function run(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  return await start(args, options).finished();
}

export function temporaryFolder(): { readonly path: string; remove(): void } {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-cli-"));
  return { path: folder, remove: () => fs.rmSync(folder, { recursive: true, force: true }) };
}

/** A gateway on a free port, with its data in `./data` of the folder. */
export async function startServe(
  folder: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<{ readonly process: RunningTendon; readonly url: string }> {
  const process = start(["serve", "--port", "0", "--mqtt-port", "0", ...args], { cwd: folder, env });
  const [, url = ""] = await process.until("stdout", /^tendon ready (https?:\/\/\S+)$/m);
  return { process, url };
}

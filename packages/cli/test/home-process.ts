/** Runs `tendon home --mcp` as its clients do: as a process, over its pipes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../bin/tendon.js", import.meta.url));

export interface HomeProcessOptions {
  readonly cwd: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The largest file that the process can write, in KiB. */
  readonly maxFileKiB?: number;
}

export class HomeProcess {
  readonly child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #closed: Promise<unknown>;
  #rest = "";
  #wake: (() => void) | undefined;
  #over = false;
  stdout = "";
  stderr = "";

  constructor({ cwd, args = ["--mcp"], env = {}, maxFileKiB }: HomeProcessOptions) {
    const { PATH = "", HOME = "" } = process.env;
    const command = [process.execPath, bin, "home", ...args];
    // The shell counts in blocks of 512 bytes.
    const limited = ["/bin/sh", "-c", `ulimit -f ${2 * (maxFileKiB ?? 0)} && exec "$@"`, "sh", ...command];
    const [program = "", ...rest] = maxFileKiB === undefined ? command : limited;
    this.child = spawn(program, rest, {
      cwd,
      env: { PATH, HOME, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    // Writing to a server that has ended fails; tests check its exit code instead.
    this.child.stdin?.on("error", () => undefined);
    this.#closed = once(this.child, "close").then(() => {
      this.#over = true;
      this.#wake?.();
    });
  }

  write(text: string): void {
    this.child.stdin?.write(text);
  }

  send(message: object): void {
    this.write(`${JSON.stringify(message)}\n`);
  }

  call(id: number | string, tool: string, args: object = {}): void {
    this.send({ type: "call", id, tool, args });
  }

  async next(): Promise<string> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) return line;
      if (this.#over)
        throw new TypeError(`the home has ended\nstdout: ${this.stdout}\nstderr: ${this.stderr}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async ask(tool: string, args: object = {}): Promise<unknown> {
    this.call(1, tool, args);
    const answer = JSON.parse(await this.next()) as { readonly result?: unknown; readonly error?: string };
    return answer.error ?? answer.result;
  }

  async ended(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }> {
    await this.#closed;
    return { code: this.child.exitCode, signal: this.child.signalCode };
  }

  async quit(): Promise<void> {
    this.send({ type: "quit" });
    await this.#closed;
  }

  #take(text: string): void {
    this.stdout += text;
    const parts = (this.#rest + text).split("\n");
    this.#rest = parts.pop() ?? "";
    this.#lines.push(...parts);
    this.#wake?.();
  }
}

/** Starts the home and waits for `ready`. */
export async function startHome(options: HomeProcessOptions): Promise<HomeProcess> {
  const home = new HomeProcess(options);
  await home.next();
  return home;
}

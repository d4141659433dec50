/** Runs child-main.ts, from its source, in a process of its own. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import readline from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Place } from "./databases.ts";

const main = fileURLToPath(new URL("./child-main.ts", import.meta.url));
const root = path.resolve(path.dirname(main), "../../../..");
const conditions = JSON.stringify(["@tendon/source", "module", "node"]);
// The tests' own loader: Node 20 cannot read TypeScript by itself.
const launcher = `
  import { runnerImport } from "vite";
  const conditions = ${conditions};
  const resolve = { conditions, externalConditions: conditions };
  const settings = { configFile: false, logLevel: "error", resolve: { conditions }, ssr: { resolve } };
  await runnerImport(process.argv[1], settings);
`;

export class Child {
  readonly lines: string[] = [];
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #read: readline.Interface;
  readonly #ended: Promise<unknown>;

  constructor(task: "open" | "write", place: Place) {
    const args = ["--input-type=module", "-e", launcher, main, JSON.stringify({ task, ...place })];
    this.#process = spawn(process.execPath, args, { cwd: root, stdio: ["pipe", "pipe", "inherit"] });
    this.#read = readline.createInterface({ input: this.#process.stdout });
    this.#read.on("line", (line) => this.lines.push(line));
    this.#ended = once(this.#read, "close");
  }

  /** Resolves when the child has said this. */
  async said(line: string): Promise<void> {
    let ended = false;
    const end = this.#ended.then(() => {
      ended = true;
    });
    while (!this.lines.includes(line)) {
      if (ended) throw new TypeError(`the child ended before it said ${line}`);
      await Promise.race([once(this.#read, "line"), end]);
    }
  }

  go(): void {
    this.#process.stdin.write("go\n");
  }

  /** Ends it at once, and gives all that it had said by then. */
  async kill(): Promise<readonly string[]> {
    this.#process.kill("SIGKILL");
    await this.#ended;
    return this.lines;
  }
}

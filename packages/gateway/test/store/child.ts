/** Runs child-main.ts as a separate process. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import type { Place } from "./databases.ts";

const main = fileURLToPath(new URL("./child-main.ts", import.meta.url));
const root = path.resolve(path.dirname(main), "../../../..");
/** Inside the packages folder, where the bundle finds external packages. */
const bundled = path.join(root, "node_modules", ".cache", "tendon-tests", `child-main-${process.pid}.mjs`);
let bundling: Promise<void> | undefined;

/** Bundled, because Node 20 cannot run TypeScript, and a loader would be slower than the work. */
async function bundle(): Promise<void> {
  const build = await rolldown({
    input: main,
    platform: "node",
    resolve: { conditionNames: ["@tendon/source", "import", "node"] },
    external: ["@photostructure/sqlite", "pg"],
    logLevel: "warn",
  });
  await build.write({ file: bundled, format: "esm", codeSplitting: false });
  await build.close();
  process.once("exit", () => fs.rmSync(bundled, { force: true }));
}

export class Child {
  readonly lines: string[] = [];
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #read: readline.Interface;
  readonly #ended: Promise<unknown>;

  static async start(task: "open" | "write", place: Place): Promise<Child> {
    bundling ??= bundle();
    await bundling;
    return new Child([bundled, JSON.stringify({ task, ...place })]);
  }

  private constructor(args: readonly string[]) {
    this.#process = spawn(process.execPath, args, { cwd: root, stdio: ["pipe", "pipe", "inherit"] });
    this.#read = readline.createInterface({ input: this.#process.stdout });
    this.#read.on("line", (line) => this.lines.push(line));
    this.#ended = once(this.#read, "close");
  }

  /** Resolves when the child has printed this. */
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

  /** Kills it, and returns its output so far. */
  async kill(): Promise<readonly string[]> {
    this.#process.kill("SIGKILL");
    await this.#ended;
    return this.lines;
  }
}

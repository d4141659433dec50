/**
 * Where a guide is typed in: a folder that looks like a clone, with terminals. Commands are typed as they stand, with two
 * exceptions. Ports: a gateway listens on free ones, and 8000, 1883 and 8001 in a command mean those. And `npx tendon`:
 * after npx has really been asked once, the file that it found is run, because npx itself takes as long as the command.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { GuideError, root } from "./page.ts";
import { type Bindings, withBindings } from "./shown-output.ts";

const timeoutMs = 60_000;
const inTheClone = ["package.json", "packages", "node_modules", "scripts", "examples"];

/** Commands that go on until they are interrupted, and what they print when the next one may be typed. */
const longRunning: readonly { readonly command: RegExp; readonly up: RegExp }[] = [
  { command: /^(npm start|npx tendon serve)\b/, up: /^ {2}try /m },
  { command: /^npx tendon simulate esp32.* --await-approval/, up: /shows the code \d{6}/ },
  { command: /^npx tendon simulate esp32/, up: /connected, .*; press Ctrl\+C to stop/ },
  { command: /^npx tendon simulate voice-server/, up: /^voice server ready / },
  { command: /^npx tendon simulate http-server/, up: /^MCP server ready / },
  { command: /^npx tendon watch\b/, up: /^watching; / },
  { command: /^npx tendon home --mcp/, up: /"type":"ready"/ },
  { command: /^node examples\/own-device\.mjs/, up: /is connected; / },
  // In the background of a shell: as soon as it has said something.
  { command: /&$/, up: /./ },
];
const ends = / --help\b| --fault list\b/;
const assignments = /^(?:\w+=\S+ )*/;

export interface Printed {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Running {
  readonly command: string;
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  stdout: string;
  stderr: string;
}

let npxWasAsked = false;

export function isGateway(command: string): boolean {
  return kindOf(command) === longRunning[0];
}

export class GuideSession {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-guide-"));
  readonly bindings: Bindings = new Map();
  readonly #env: Record<string, string>;
  readonly #exported = new Map<string, string>();
  readonly #running: Running[] = [];
  /** As the guides have them, and as they are here. */
  readonly #ports = new Map<string, string>();

  constructor() {
    process.once("exit", this.#killAll);
    for (const name of inTheClone) fs.symlinkSync(path.join(root, name), path.join(this.folder, name));
    const { PATH = "", HOME = "" } = process.env;
    this.#env = {
      PATH,
      HOME,
      NO_UPDATE_NOTIFIER: "1",
      npm_config_loglevel: "error",
      TENDON_HTTP_PORT: "0",
      TENDON_MQTT_PORT: "0",
      TENDON_VOICE_UDP_PORT: "0",
    };
  }

  write(name: string, text: string): string {
    const file = path.join(this.folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, this.typed(text));
    return file;
  }

  /** The next guide begins without what the last one has shown, exported or put into the settings. */
  reset(): void {
    this.bindings.clear();
    this.#exported.clear();
    fs.rmSync(path.join(this.folder, "tendon.yaml"), { force: true });
  }

  /** What a reader types for what the guide says: the ids and codes of this run, and its ports. */
  typed(text: string): string {
    let typed = withBindings(text, this.bindings);
    for (const [shown, real] of this.#ports)
      typed = typed.replaceAll(new RegExp(`(127\\.0\\.0\\.1:|-p )${shown}\\b`, "g"), `$1${real}`);
    return typed;
  }

  /** To its end, or until it is up; one that is still running is not started a second time. */
  async run(command: string, merged = false): Promise<Printed> {
    const line = bare(command);
    const kind = kindOf(line);
    const [, name] = /^export (\w+)=/.exec(line) ?? [];
    if (name !== undefined) {
      const done = await this.#finished(this.#start(`${this.#spelt(line)} && printf %s "$${name}"`, line));
      this.#exported.set(name, done.stdout);
      return { ...done, stdout: done.stderr };
    }
    // On a terminal both outputs are one.
    if (kind === undefined)
      return await this.#finished(this.#start(`${merged ? "exec 2>&1\n" : ""}${this.#spelt(command)}`, line));
    const same = this.#running.find((one) => one.command === line);
    if (same !== undefined) return this.#asPrinted(same, 0);
    const running = this.#start(
      `${this.#spelt(line).replace(/ &$/, "").replace(assignments, "$&exec ")}`,
      line,
    );
    this.#running.push(running);
    await this.#up(running, kind.up);
    this.#learnPorts(running.stdout);
    return this.#asPrinted(running, 0);
  }

  /** Ctrl+C in every terminal but those in which `keep` was typed, the last one first. */
  async interrupt(keep?: string): Promise<void> {
    const wrong: string[] = [];
    for (const running of this.#running.splice(0).reverse()) {
      const { child, command } = running;
      if (command === keep) {
        this.#running.push(running);
        continue;
      }
      this.#signal(child, "SIGINT");
      const late = setTimeout(() => this.#signal(child, "SIGKILL"), timeoutMs);
      await running.ended;
      clearTimeout(late);
      if (command.includes("npx tendon") && child.exitCode !== 0)
        wrong.push(`\`${command}\`, interrupted, ends with ${child.exitCode}\n${running.stderr}`);
    }
    if (wrong.length > 0) throw new GuideError(wrong.join("\n"));
  }

  async close(): Promise<void> {
    try {
      await this.interrupt();
    } finally {
      process.off("exit", this.#killAll);
      fs.rmSync(this.folder, { recursive: true, force: true });
    }
  }

  /** A test run that is broken off leaves no gateway behind. */
  readonly #killAll = (): void => {
    for (const { child } of this.#running) this.#signal(child, "SIGKILL");
  };

  #spelt(command: string): string {
    const typed = this.typed(command).replace(/^npx tendon simulate (?:voice|http)-server\b/, "$& --port 0");
    if (!/\bnpx tendon\b/.test(typed)) return typed;
    if (npxWasAsked) return typed.replaceAll(/\bnpx tendon\b/g, "node_modules/.bin/tendon");
    npxWasAsked = true;
    return typed;
  }

  #start(typed: string, command: string): Running {
    // A gateway takes this one with a certificate only.
    const tls = command.includes("TENDON_TLS_CERT=") ? { TENDON_MQTT_TLS_PORT: "0" } : {};
    const child = spawn("sh", ["-c", typed], {
      cwd: this.folder,
      env: { ...this.#env, ...tls, ...Object.fromEntries(this.#exported) },
      // A group of its own, as a terminal's job is: Ctrl+C reaches all of it.
      detached: true,
    });
    const running: Running = { command, child, ended: once(child, "close"), stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (running.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (running.stderr += text));
    return running;
  }

  async #finished(running: Running): Promise<Printed> {
    const { child } = running;
    child.stdin?.end();
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#signal(child, "SIGKILL");
    }, timeoutMs);
    await running.ended;
    clearTimeout(timer);
    if (late) throw new GuideError(`\`${running.command}\` does not end\n${running.stdout}${running.stderr}`);
    return this.#asPrinted(running, child.exitCode);
  }

  async #up(running: Running, up: RegExp): Promise<void> {
    const { child } = running;
    await new Promise<void>((resolve, reject) => {
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        child.stdout?.off("data", look);
        child.stderr?.off("data", look);
        settle();
      };
      const surprise = (what: string) =>
        finish(() =>
          reject(new GuideError(`\`${running.command}\` ${what}\n${running.stdout}${running.stderr}`)),
        );
      const look = () => {
        if (up.test(running.stdout) || up.test(running.stderr)) finish(resolve);
      };
      const timer = setTimeout(() => surprise(`never prints ${up}`), timeoutMs);
      child.stdout?.on("data", look);
      child.stderr?.on("data", look);
      void running.ended.then(() => surprise("ends"));
    });
  }

  #learnPorts(printed: string): void {
    for (const [shown, line] of [
      ["8000", /^tendon ready \S+:(\d+)$/m],
      ["1883", /^ {2}apps \(MQTT\) +mqtt:\/\/\S+:(\d+)$/m],
      ["8001", /^voice server ready \S+:(\d+)\//m],
    ] as const) {
      const [, real] = line.exec(printed) ?? [];
      if (real !== undefined) this.#ports.set(shown, real);
    }
  }

  /** With the guides' own ports in it. */
  #asPrinted({ stdout, stderr }: Running, code: number | null): Printed {
    const shown = (text: string) =>
      [...this.#ports].reduce(
        (sum, [port, real]) => sum.replaceAll(new RegExp(`:${real}\\b`, "g"), `:${port}`),
        text,
      );
    return { code, stdout: shown(stdout), stderr: shown(stderr) };
  }

  #signal({ pid, exitCode, signalCode }: ChildProcess, signal: NodeJS.Signals): void {
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    process.kill(-pid, signal);
  }
}

function kindOf(command: string): (typeof longRunning)[number] | undefined {
  const line = bare(command).replace(assignments, "");
  return ends.test(line) ? undefined : longRunning.find(({ command: like }) => like.test(line));
}

/** Without the remark behind it. */
function bare(command: string): string {
  return command.replace(/\s+# .*$/, "").trim();
}

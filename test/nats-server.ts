/** A real nats-server with JetStream, on a free port of the loopback address, in a temporary folder. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";

class NatsProblem extends Error {
  override readonly name = "NatsProblem";
}

const program = "nats-server";
const startAttempts = 5;

/** How much JetStream may store; unlimited by default. */
export interface NatsLimits {
  readonly fileBytes?: number;
  readonly memoryBytes?: number;
}

export class NatsServer {
  #limits: NatsLimits = {};
  readonly #folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-nats-"));
  #process: ChildProcess | undefined;
  #port = 0;

  static async start(limits: NatsLimits = {}): Promise<NatsServer> {
    const server = new NatsServer();
    server.#limits = limits;
    for (let attempt = 1; ; attempt += 1) {
      server.#port = await freePort();
      if (await server.#launch()) return server;
      if (attempt === startAttempts) throw new NatsProblem(`${program} did not start`);
    }
  }

  get url(): string {
    return `nats://127.0.0.1:${this.#port}`;
  }

  /** Restarts on the same port with its stored data. */
  async startAgain(limits = this.#limits): Promise<void> {
    this.#limits = limits;
    if (!(await this.#launch())) throw new NatsProblem("the port is taken");
  }

  freeze(): void {
    this.#process?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#process?.kill("SIGCONT");
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async stop(): Promise<void> {
    await this.kill();
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  #configuration(): string {
    const file = path.join(this.#folder, "nats.conf");
    const { fileBytes, memoryBytes } = this.#limits;
    const lines = [
      `store_dir: ${JSON.stringify(this.#folder)}`,
      ...(fileBytes === undefined ? [] : [`max_file_store: ${fileBytes}`]),
      ...(memoryBytes === undefined ? [] : [`max_memory_store: ${memoryBytes}`]),
    ];
    fs.writeFileSync(file, `jetstream {\n  ${lines.join("\n  ")}\n}\n`);
    return file;
  }

  async #launch(): Promise<boolean> {
    const child = spawn(program, ["-c", this.#configuration(), "-a", "127.0.0.1", "-p", String(this.#port)], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: `${process.env["PATH"] ?? ""}:/usr/local/sbin:/usr/sbin:/opt/homebrew/sbin` },
    });
    this.#process = child;
    return await new Promise<boolean>((resolve, reject) => {
      let said = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (said.includes("Server is ready")) resolve(true);
      });
      child.once("exit", () => resolve(false));
      child.once("error", (error) => reject(new NatsProblem(`${program}: ${error.message}`)));
    });
  }
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

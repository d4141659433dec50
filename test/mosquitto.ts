import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { until } from "./inbox.ts";

// Debian installs servers outside a user's PATH.
const env = {
  ...process.env,
  PATH: `${process.env["PATH"] ?? ""}:/usr/local/sbin:/usr/sbin:/opt/homebrew/sbin`,
};
const [server, passwordTool] = ["mosquitto", "mosquitto_passwd"] as const;
const howToGet =
  "mosquitto is missing: `npm test` as root on Debian installs it; otherwise apt-get install mosquitto mosquitto-clients, or see https://mosquitto.org/download/";

/** The ACL rules from a page of the documentation. */
function documentedRules(file: string): string {
  const page = fs.readFileSync(new URL(`../docs/${file}`, import.meta.url), "utf8");
  return /```\w*\n(# acl\n.*?)```/s.exec(page)?.[1] ?? "";
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** A real Mosquitto on a free port, with users and the documented rules. It stops when the test ends. */
export class Mosquitto {
  readonly port: number;
  readonly #folder: string;
  #process: ChildProcess | undefined;

  private constructor(port: number, folder: string) {
    this.port = port;
    this.#folder = folder;
  }

  static async start(
    users: Readonly<Record<string, string>>,
    page = "reference/mqtt.md",
    more: readonly string[] = [],
  ): Promise<Mosquitto> {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-mosquitto-"));
    const broker = new Mosquitto(await freePort(), folder);
    onTestFinished(async () => {
      await broker.stop();
      fs.rmSync(folder, { recursive: true, force: true });
    });
    fs.writeFileSync(broker.#file("acl"), documentedRules(page), { mode: 0o600 });
    fs.writeFileSync(broker.#file("passwords"), "", { mode: 0o600 });
    const settings = [
      `listener ${broker.port} 127.0.0.1`,
      `user ${os.userInfo().username}`,
      "allow_anonymous false",
      `password_file ${broker.#file("passwords")}`,
      `acl_file ${broker.#file("acl")}`,
      ...more,
    ];
    fs.writeFileSync(broker.#file("mosquitto.conf"), `${settings.join("\n")}\n`);
    for (const [name, password] of Object.entries(users)) broker.#setPassword(name, password);
    await broker.run();
    return broker;
  }

  url(user: string, password: string): string {
    return `mqtt://${user}:${password}@127.0.0.1:${this.port}`;
  }

  /** Works while the broker runs: it reloads its users. */
  addUser(name: string, password: string): void {
    this.#setPassword(name, password);
    this.#process?.kill("SIGHUP");
  }

  async run(): Promise<void> {
    const child = spawn(server, ["-c", this.#file("mosquitto.conf")], { env, stdio: "ignore" });
    let failed: string | undefined;
    child.once("error", () => {
      failed = howToGet;
    });
    child.once("exit", (code) => {
      failed ??= `mosquitto ended with ${code}`;
    });
    this.#process = child;
    await until(async () => {
      if (failed !== undefined) throw new Error(failed);
      return await this.#listens();
    }, "mosquitto");
  }

  /** Kills the broker without closing its connections. */
  async stop(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.pid === undefined) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  async #listens(): Promise<boolean> {
    const socket = net.connect(this.port, "127.0.0.1");
    try {
      await once(socket, "connect");
      return true;
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  }

  #setPassword(name: string, password: string): void {
    try {
      execFileSync(passwordTool, ["-b", this.#file("passwords"), name, password], {
        env,
        stdio: "pipe",
      });
    } catch (error) {
      const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
      throw missing ? new Error(howToGet, { cause: error }) : error;
    }
  }

  #file(name: string): string {
    return path.join(this.#folder, name);
  }
}

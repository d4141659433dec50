/** Starts and asks the gateway of `gateway-process.ts`. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { FuzzDevice } from "./device.ts";
import type { FuzzSite } from "./entry.ts";
import type { Figures, Question, Started } from "./gateway-process.ts";
import { ask, asObject } from "./http.ts";

const adminToken = "an-admin-token-for-fuzzing";

export class OwnProcess {
  readonly site: FuzzSite;
  readonly #child: ChildProcess;
  #exited = false;

  private constructor(child: ChildProcess, site: FuzzSite) {
    this.#child = child;
    this.site = site;
    child.once("exit", () => {
      this.#exited = true;
    });
  }

  static async start(programPorts: readonly number[]): Promise<OwnProcess> {
    const module = fileURLToPath(new URL("./gateway-process.mjs", import.meta.url));
    const child = fork(module, [adminToken, ...programPorts.map(String)], {
      execArgv: ["--expose-gc", "--enable-source-maps"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const { url, mqttPort } = await next<Started>(child);
    const keeper = new FuzzDevice(url, "keeper");
    await keeper.connect();
    const limitedToken = await limitedTokenOf(url);
    keeper.close();
    return new OwnProcess(child, { url, mqttPort, adminToken, limitedToken });
  }

  async figures(collect: boolean): Promise<Figures> {
    this.#ask({ ask: "figures", collect });
    return await next<Figures>(this.#child);
  }

  async stop(): Promise<void> {
    if (this.#exited) return;
    const exit = new Promise<void>((resolve) => this.#child.once("exit", () => resolve()));
    this.#ask({ ask: "stop" });
    await exit;
  }

  #ask(question: Question): void {
    this.#child.send(question);
  }
}

async function next<Message>(child: ChildProcess): Promise<Message> {
  return await new Promise((resolve, reject) => {
    const exited = () => reject(new GatewayExited("the gateway's process has exited"));
    child.once("exit", exited);
    child.once("message", (message) => {
      child.off("exit", exited);
      resolve(message as Message);
    });
  });
}

class GatewayExited extends Error {
  override readonly name = "GatewayExited";
}

/** A token for one known device, which may read and call. */
export async function limitedTokenOf(url: string, token = adminToken): Promise<string> {
  const answered = await ask(url, {
    method: "POST",
    path: "/api/v1/tokens",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "limited", scopes: ["read", "call"], devices: { ids: ["keeper"] } }),
  });
  return String(asObject(answered?.text ?? "")["token"] ?? "");
}

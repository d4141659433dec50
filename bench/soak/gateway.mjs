// `tendon serve` as a process of its own, so that memory and descriptors are the gateway's only.
import { spawn } from "node:child_process";
import { setMaxListeners } from "node:events";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../../packages/cli/bin/tendon.js", import.meta.url));
const program = fileURLToPath(new URL("./program.mjs", import.meta.url));
const startMs = 30_000;
const stopMs = 10_000;
const requestMs = 150_000;

export const programId = "counter";

export class Gateway {
  token = "a-token-for-the-soak-run";
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-soak-"));
  /** The program writes the number of each call here. */
  ranFile = path.join(this.folder, "ran");
  logFile = path.join(this.folder, "log");
  url = "";
  mqttEndpoint = "";
  #child;
  #agent = newAgent();

  get deviceUrl() {
    return `${this.url.replace("http", "ws")}/xiaozhi/v1/`;
  }

  get pid() {
    return this.#child?.pid;
  }

  get running() {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  /** How long its event loop was ready to run and had no processor, since its start. 0 where the system does not tell. */
  waitedMs() {
    try {
      return Number(fs.readFileSync(`/proc/${this.pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
    } catch {
      return 0;
    }
  }

  async start() {
    fs.writeFileSync(
      path.join(this.folder, "tendon.yaml"),
      JSON.stringify({
        calls: { keepArguments: true },
        devices: {
          admission: "open",
          stdio: [{ alias: programId, command: process.execPath, args: [program, this.ranFile] }],
        },
        voice: { udpPort: 0 },
        log: { level: "warn" },
      }),
    );
    const { PATH = "", HOME = "" } = process.env;
    const ports = [this.url, this.mqttEndpoint].map((address) => /:(\d+)$/.exec(address)?.[1] ?? "0");
    this.#child = spawn(
      process.execPath,
      [bin, "serve", "--json", "--port", ports[0], "--mqtt-port", ports[1]],
      {
        cwd: this.folder,
        env: { PATH, HOME, TENDON_TOKEN: this.token },
        stdio: ["ignore", "pipe", fs.openSync(this.logFile, "a")],
      },
    );
    const ready = await new Promise((resolve, reject) => {
      const fail = () => reject(new Error(`the gateway did not start; its log:\n${this.log()}`));
      const timer = setTimeout(fail, startMs);
      this.#child.once("exit", fail);
      let text = "";
      this.#child.stdout.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
        const line = /^\{.*"ready".*\}$/m.exec(text)?.[0];
        if (line === undefined) return;
        clearTimeout(timer);
        this.#child.off("exit", fail);
        resolve(JSON.parse(line));
      });
    });
    this.url = ready.url;
    this.mqttEndpoint = new URL(ready.mqtt).host;
  }

  async #end(signal) {
    const child = this.#child;
    if (!this.running) return child?.exitCode;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    const timer = setTimeout(() => child.kill("SIGKILL"), stopMs);
    child.kill(signal);
    const code = await ended;
    clearTimeout(timer);
    return code;
  }

  async kill() {
    await this.#end("SIGKILL");
    this.#agent.destroy();
    this.#agent = newAgent();
  }

  /** Returns the exit code. */
  async stop() {
    this.hangUp();
    return await this.#end("SIGTERM");
  }

  /** Closes the kept HTTP connections. */
  hangUp() {
    this.#agent.destroy();
  }

  remove() {
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  log() {
    return fs.existsSync(this.logFile) ? fs.readFileSync(this.logFile, "utf8") : "";
  }

  /** Lines of the log with level error or fatal. */
  errorLines() {
    return this.log()
      .split("\n")
      .filter((line) => /"level":(50|60|"error"|"fatal")/.test(line));
  }

  /** The response as soon as its headers are here. */
  async open(method, at, { body, text = textOf(body), token, headers = {}, signal, idle = false } = {}) {
    return await new Promise((resolve, reject) => {
      const request = http.request(this.url + at, {
        method,
        agent: this.#agent,
        signal,
        ...(idle ? {} : { timeout: requestMs }),
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(text === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
      });
      request.once("response", (response) => {
        response.on("error", () => {});
        resolve(response);
      });
      request.once("timeout", () => request.destroy(new Error(`no answer to ${method} ${at}`)));
      request.on("error", reject);
      request.end(text);
    });
  }

  /** `fetch` over connections that `hangUp` closes; those of Node's own `fetch` stay open for a minute. */
  fetch = async (url, { method = "GET", headers, body, signal } = {}) => {
    const { pathname, search } = new URL(url);
    // One signal of the client's ends all its requests.
    if (signal) setMaxListeners(0, signal);
    const response = await this.open(method, pathname + search, {
      text: body ?? undefined,
      token: undefined,
      headers: Object.fromEntries(new Headers(headers)),
      signal: signal ?? undefined,
      idle: true,
    });
    const { statusCode: status } = response;
    const isEmpty = status === 202 || status === 204;
    if (isEmpty) response.resume();
    return new Response(isEmpty ? null : Readable.toWeb(response), { status, headers: response.headers });
  };

  /** With the admin token unless the options have another. */
  async request(method, at, options) {
    const response = await this.open(method, at, { token: this.token, ...options });
    let text = "";
    response.setEncoding("utf8");
    for await (const chunk of response) text += chunk;
    const isJson = /json/.test(response.headers["content-type"] ?? "");
    return { status: response.statusCode, text, body: isJson && text !== "" ? JSON.parse(text) : {} };
  }

  async rest(method, at, body, options = {}) {
    return await this.request(method, `/api/v1${at}`, { ...options, body });
  }
}

/** Few idle connections, so that descriptors follow the traffic of now, not the busiest moment so far. */
function newAgent() {
  return new http.Agent({ keepAlive: true, maxFreeSockets: 16 });
}

function textOf(body) {
  return body === undefined ? undefined : JSON.stringify(body);
}

// `tendon serve` as it is shipped, with its defaults, in a process of its own.
import { fork } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { askable } from "../process.mjs";

export const tendonBin = fileURLToPath(new URL("../../packages/cli/bin/tendon.js", import.meta.url));
const hook = new URL("../servers/serve-hook.mjs", import.meta.url).href;

/**
 * What differs from the defaults: devices need no approval, the log is that of a terminal. Checks, limits, history and
 * audit are on.
 */
const settings = { devices: { admission: "open" }, voice: { udpPort: 0 }, log: { level: "warn" } };

export const adminToken = "bench-token-bench-token";

/** A data folder with a configuration file; `remove` deletes it. */
export function makeFolder(more = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-bench-"));
  const { devices, ...others } = more;
  const config = { ...settings, ...others, devices: { ...settings.devices, ...devices } };
  fs.writeFileSync(path.join(folder, "tendon.yaml"), JSON.stringify(config));
  const remove = () => fs.rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  return {
    folder,
    remove() {
      process.off("exit", remove);
      remove();
    },
  };
}

export function serveEnvironment() {
  const { PATH = "", HOME = "", TMPDIR } = process.env;
  return { PATH, HOME, TENDON_TOKEN: adminToken, ...(TMPDIR === undefined ? {} : { TMPDIR }) };
}

export const serveArguments = ["serve", "--json", "--port", "0", "--mqtt-port", "0"];

/** Resolves with the first line that says `ready`. */
export function readyLine(child) {
  return new Promise((resolve, reject) => {
    let text = "";
    const failed = () => reject(new Error(`the gateway did not start: ${text}`));
    child.once("exit", failed);
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
      const line = /^\{.*"ready".*\}$/m.exec(text)?.[0];
      if (line === undefined) return;
      child.off("exit", failed);
      resolve(JSON.parse(line));
    });
  });
}

export async function startGateway(more = {}) {
  const { folder, remove } = makeFolder(more);
  const child = fork(tendonBin, serveArguments, {
    cwd: folder,
    env: serveEnvironment(),
    execArgv: ["--expose-gc", "--import", hook],
    stdio: ["ignore", "pipe", fs.openSync(path.join(folder, "log"), "a"), "ipc"],
  });
  const { next: _next, stop, ...server } = askable(child, "tendon serve");
  const ready = await readyLine(child);
  const authorization = `Bearer ${adminToken}`;
  const get = async (at) => await fetch(ready.url + at, { headers: { authorization } });
  return {
    ...server,
    folder,
    url: ready.url,
    port: Number(new URL(ready.url).port),
    devices: `${ready.url.replace("http", "ws")}/xiaozhi/v1/`,
    token: adminToken,
    authorization,
    get,
    /** How many devices the gateway counts as connected. */
    async online() {
      const text = await (await get("/metrics")).text();
      return Number(/^tendon_devices_online (\d+)/m.exec(text)?.[1]);
    },
    async stop() {
      await stop();
      remove();
    },
  };
}

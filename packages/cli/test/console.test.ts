import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../../test/inbox.ts";
import { run, startServe, temporaryFolder } from "./run-tendon.ts";

const bin = fileURLToPath(new URL("../bin/tendon.js", import.meta.url));
let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

async function signIn(url: string, link: string): Promise<Response> {
  return await fetch(`${url}/api/v1/session`, {
    method: "POST",
    headers: { origin: url, "x-tendon-console": "1", "content-type": "application/json" },
    body: JSON.stringify({ secret: /#code=(.+)$/.exec(link.trim())?.[1] }),
  });
}

describe("the console link", () => {
  it("is printed by `tendon console` and signs in once", async () => {
    const { process, url } = await startServe(folder.path);
    const { code, stdout } = await run(["console"], { cwd: folder.path });
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^${url}/#code=[a-z0-9-]{19}\n$`));
    const answer = await signIn(url, stdout);
    expect(await answer.json()).toMatchObject({ principal: { name: "admin" }, gateway: { demo: true } });
    expect((await signIn(url, stdout)).status).toBe(401);
    const asJson = await run(["console", "--json"], { cwd: folder.path });
    expect(JSON.parse(asJson.stdout)).toMatchObject({ code: expect.any(String), url: expect.any(String) });
    await process.end();
  });

  it("is printed by `serve` on a terminal but not into a pipe", async () => {
    const { process } = await startServe(folder.path);
    const { stdout, stderr } = await process.end();
    expect(stdout + stderr).not.toContain("#code=");
    const command = `'${globalThis.process.execPath}' '${bin}' serve --port 0 --mqtt-port 0`;
    // `script` runs the program on a terminal.
    const terminal = spawn("script", ["-qec", command, "/dev/null"], {
      cwd: folder.path,
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(() => void terminal.kill("SIGTERM"));
    let seen = "";
    await new Promise<void>((resolve) => {
      terminal.stdout.on("data", (chunk: Buffer) => {
        seen += chunk.toString();
        if (/try.* devices\r\n/.test(seen)) resolve();
      });
    });
    const [, url = "", link = ""] = /ready (http\S+)[\s\S]*?(http\S+#code=[a-z0-9-]+)/.exec(seen) ?? [];
    expect((await signIn(url, link)).status).toBe(200);
    // A terminal shows only the ready block, without log lines.
    expect(seen.trim()).toMatch(/^tendon ready \S+\r\n( {2}.+\r\n)+ {2}.*try.*tendon(?:\.js)? devices$/s);
    const ended = once(terminal, "close");
    terminal.kill("SIGTERM");
    await ended;
  });

  it("signs in a console that can start a virtual device", async () => {
    const { process, url } = await startServe(folder.path);
    const link = (await run(["console"], { cwd: folder.path })).stdout;
    const cookie = (await signIn(url, link)).headers.get("set-cookie")?.split(";")[0] ?? "";
    const headers = { cookie, origin: url, "x-tendon-console": "1" };
    const started = await fetch(`${url}/api/v1/demo/devices`, { method: "POST", headers });
    expect(started.status).toBe(201);
    const { id } = (await started.json()) as { id: string };
    const { stdout } = await run(["devices", "--json"], { cwd: folder.path });
    expect(JSON.parse(stdout)).toMatchObject({ devices: [{ id, online: true }] });
    expect((await process.end()).code).toBe(0);
  });

  it("starts virtual devices again after a restart, until they are deleted", async () => {
    const first = await startServe(folder.path);
    const api = async (url: string, method: string, at: string) => {
      const token = fs.readFileSync(path.join(folder.path, "data", "admin-token"), "utf8").trim();
      return await fetch(`${url}/api/v1${at}`, { method, headers: { authorization: `Bearer ${token}` } });
    };
    const started = await api(first.url, "POST", "/demo/devices");
    const { id } = (await started.json()) as { id: string };
    await first.process.end();
    const second = await startServe(folder.path);
    const isOnline = async () => {
      const answer = await api(second.url, "GET", `/devices/${id}`);
      return ((await answer.json()) as { online?: boolean }).online === true;
    };
    await until(isOnline, "the virtual device after the restart");
    expect((await api(second.url, "DELETE", `/devices/${id}`)).status).toBe(204);
    const file = path.join(folder.path, "data", "virtual-devices.json");
    await until(() => fs.readFileSync(file, "utf8").trim() === "[]", "no kept devices");
    const list = await api(second.url, "GET", "/devices");
    expect(await list.json()).toMatchObject({ devices: [] });
    expect((await second.process.end()).code).toBe(0);
  });
});

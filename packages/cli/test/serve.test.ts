import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bin, run, start, startServe, temporaryFolder } from "./run-tendon.ts";

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

describe("tendon serve", () => {
  it("prints its address when ready, logs to stderr, and exits with 0 on SIGTERM", async () => {
    const { process, url } = await startServe(folder.path);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const { code, stdout, stderr } = await process.end("SIGTERM");
    expect(code).toBe(0);
    expect(stdout.split("\n")[0]).toBe(`tendon ready ${url}`);
    expect(stdout).not.toContain("not encrypted");
    expect(stdout).not.toContain("programs (MCP)");
    expect(stdout).toContain(`ws://${new URL(url).host}/xiaozhi/v1/`);
    expect(stdout).toContain(
      `${url}/xiaozhi/ota/  (this machine only; for boards, listen with --host 0.0.0.0)\n`,
    );
    for (const line of stderr.trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("msg");
  });

  it("names the option's place if npm passed on only its value", async () => {
    const args = ["serve", "--demo", "9000"];
    const options = { cwd: folder.path };
    const typed = await run(args, options);
    expect([typed.code, typed.stderr]).toEqual([
      2,
      "tendon: serve takes options only, got `9000`. Run it with --help for the list.\n",
    ]);
    const { code, stderr } = await run(args, { ...options, env: { npm_lifecycle_event: "start" } });
    expect(code).toBe(2);
    expect(stderr).toContain("Write options after `--`, such as `npm start -- --port 8080`");
  });

  it("warns that traffic is not encrypted on the network, unless a proxy encrypts it", async () => {
    const host = ["--host", "0.0.0.0"];
    const bare = await startServe(folder.path, host);
    await bare.process.until("stdout", /try /);
    const { stdout } = await bare.process.end();
    expect(
      stdout.match(/^ {2}warning +traffic is not encrypted: .* set tls\.cert and tls\.key$/gm),
    ).toHaveLength(1);
    const env = { TENDON_HTTP_PUBLIC_URL: "https://tendon.example" };
    const proxied = await startServe(folder.path, host, env);
    await proxied.process.until("stdout", /try /);
    expect((await proxied.process.end()).stdout).not.toContain("not encrypted");
  });

  it.runIf(fs.existsSync("/proc/self/limits"))("warns that the system allows few open files", async () => {
    const line = `ulimit -n 256 && exec '${process.execPath}' '${bin}' serve --port 0 --mqtt-port 0`;
    const gateway = spawn("sh", ["-c", line], { cwd: folder.path });
    let stdout = "";
    for await (const chunk of gateway.stdout) {
      stdout += String(chunk);
      if (stdout.includes("  try ")) gateway.kill();
    }
    expect(stdout).toMatch(/^ {2}warning +the system lets this process open only 256 files/m);
  });

  it("with an external broker, prints its address for devices and none for apps", async () => {
    const broker = "mqtt://tendon:secret@127.0.0.1:9";
    const publicUrl = "http://192.0.2.7:8000";
    const { process } = await startServe(folder.path, [], {
      TENDON_MQTT_BROKER: broker,
      TENDON_HTTP_PUBLIC_URL: publicUrl,
      TENDON_MQTT_PUBLIC_ENDPOINT: "127.0.0.1:9",
    });
    const { stdout } = await process.end("SIGTERM");
    expect(stdout).toContain(`${publicUrl}/xiaozhi/ota/\n`);
    expect(stdout).toMatch(/devices \(MQTT\) +127\.0\.0\.1:9\n/);
    expect(stdout).not.toContain("apps (MQTT)");
    expect(stdout).not.toContain("secret");
  });

  it("prints the address of the MCP endpoint for programs, if it is on", async () => {
    const { process, url } = await startServe(folder.path, [], { TENDON_ENDPOINT_ENABLED: "true" });
    const { stdout } = await process.end("SIGTERM");
    expect(stdout).toContain(`ws://${new URL(url).host}/mcp_endpoint/mcp/?token=…\n`);
  });

  it("prints exactly one line of JSON with --json, and exits with 0 on SIGINT", async () => {
    const process = start(["serve", "--port", "0", "--mqtt-port", "0", "--json"], { cwd: folder.path });
    await process.until("stdout", /\n/);
    const { code, stdout } = await process.end("SIGINT");
    expect(code).toBe(0);
    expect(stdout.trim().split("\n")).toHaveLength(1);
    expect(JSON.parse(stdout)).toMatchObject({
      event: "ready",
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    });
  });

  it("creates an admin token that only its owner can read, and never prints it into a pipe", async () => {
    const { process } = await startServe(folder.path);
    const file = path.join(folder.path, "data", "admin-token");
    const token = fs.readFileSync(file, "utf8").trim();
    expect(token.length).toBeGreaterThanOrEqual(32);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    const { stdout, stderr } = await process.end();
    expect(stdout + stderr).not.toContain(token);
  });

  it("uses TENDON_TOKEN as the admin token without storing or printing it", async () => {
    const token = "a-token-from-the-environment";
    const { process, url } = await startServe(folder.path, [], { TENDON_TOKEN: token });
    const answer = await fetch(`${url}/api/v1/devices`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(200);
    const { stdout, stderr } = await process.end();
    expect(stdout + stderr).not.toContain(token);
    expect(fs.existsSync(path.join(folder.path, "data", "admin-token"))).toBe(false);
  });

  it("reports a port in use, without a stack trace", async () => {
    const { process, url } = await startServe(folder.path);
    const { port } = new URL(url);
    const second = await run([
      "serve",
      "--port",
      port,
      "--mqtt-port",
      "0",
      "--data",
      path.join(folder.path, "other"),
    ]);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`Port ${port} on 127.0.0.1 is taken`);
    expect(second.stderr).not.toMatch(/\n\s+at /);
    await process.end();
  });

  it("rejects a data folder that another gateway uses, and accepts it after that gateway was killed", async () => {
    const { process, url } = await startServe(folder.path);
    const announced = path.join(folder.path, "data", "gateway.json");
    const { pid } = JSON.parse(fs.readFileSync(announced, "utf8")) as { pid: number };
    const again = ["serve", "--demo", "--port", "0", "--mqtt-port", "0"];
    const second = await run(again, { cwd: folder.path });
    expect(second).toMatchObject({ code: 1, stdout: "" });
    const data = fs.realpathSync(path.join(folder.path, "data"));
    expect(second.stderr).toContain(`${data} is already used by process ${pid}.`);
    expect(second.stderr.trim().split("\n")).toHaveLength(1);
    expect(JSON.parse(fs.readFileSync(announced, "utf8"))).toMatchObject({ url, pid });
    await process.end("SIGKILL");
    const third = await startServe(folder.path);
    expect((await fetch(`${third.url}/readyz`)).status).toBe(200);
    await third.process.end();
  });

  it("names the line of a mistake in tendon.yaml and suggests the setting", async () => {
    fs.writeFileSync(
      path.join(folder.path, "tendon.yaml"),
      "http:\n  prot: 9000\ndevices:\n  admission: everybody\n",
    );
    const { code, stderr } = await run(["serve"], { cwd: folder.path });
    expect(code).toBe(1);
    expect(stderr).toContain("tendon.yaml:2: unknown setting `http.prot`; did you mean `port`?");
    expect(stderr).toContain("tendon.yaml:4: `devices.admission` must be one of approve, list, open, closed");
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it("rejects open admission on the network without --allow-open", async () => {
    const open = { TENDON_DEVICES_ADMISSION: "open" };
    const refused = await run(["serve", "--port", "0", "--host", "0.0.0.0"], { cwd: folder.path, env: open });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("--allow-open");
  });

  it("prefers flags over the environment, and the environment over the file", async () => {
    fs.writeFileSync(path.join(folder.path, "tendon.yaml"), "data: ./from-file\nlog:\n  level: debug\n");
    const { process } = await startServe(folder.path, ["--data", "from-flag"], {
      TENDON_DATA: "from-environment",
    });
    expect(fs.existsSync(path.join(folder.path, "from-flag", "admin-token"))).toBe(true);
    expect(fs.existsSync(path.join(folder.path, "from-file"))).toBe(false);
    expect((await process.end()).code).toBe(0);
  });
});

describe("npm start", () => {
  it("ends the gateway when npm ends the shell that it runs in", async () => {
    const bin = fileURLToPath(new URL("../bin/tendon.js", import.meta.url));
    // Two commands, because some shells replace themselves with a single one.
    const line = `"${process.execPath}" "${bin}" serve --port 0 --mqtt-port 0; exit $?`;
    const env = { PATH: process.env["PATH"], npm_lifecycle_event: "start" };
    const shell = spawn("sh", ["-c", line], { cwd: folder.path, env, stdio: ["ignore", "pipe", "ignore"] });
    await once(shell.stdout, "data");
    const file = path.join(folder.path, "data", "gateway.json");
    const { pid } = JSON.parse(fs.readFileSync(file, "utf8")) as { pid: number };
    expect(pid).not.toBe(shell.pid);
    // The gateway holds the other end of the pipe until it has ended.
    const ended = once(shell.stdout, "close");
    shell.stdout.resume();
    shell.kill("SIGTERM");
    await ended;
    expect(fs.existsSync(file)).toBe(false);
  });
});

describe("the demo", () => {
  it("starts virtual devices that are provisioned, online and callable, and changes no policy", async () => {
    const { process, url } = await startServe(folder.path, ["--demo"]);
    const cwd = folder.path;
    const listed = await run(["devices", "--json"], { cwd });
    const { devices } = JSON.parse(listed.stdout) as { devices: { alias: string; online: boolean }[] };
    expect(devices.length).toBeGreaterThanOrEqual(2);
    expect(devices.every(({ online }) => online)).toBe(true);
    for (const { alias } of devices) expect(process.stderr).toContain(`"alias":"${alias}"`);
    const alias = devices[0]?.alias ?? "";
    const set = await run(["call", alias, "self.audio_speaker.set_volume", "volume=30"], { cwd });
    expect(set).toMatchObject({ code: 0, stdout: "true\n" });
    const status = await run(["call", alias, "self.get_device_status"], { cwd });
    expect(JSON.parse(status.stdout)).toMatchObject({ audio_speaker: { volume: 30 } });
    const unknown = await fetch(`${url}/xiaozhi/v1/`, { headers: { "device-id": "02:00:00:00:00:99" } });
    expect(unknown.status).not.toBe(200);
    expect((await process.end()).code).toBe(0);
  });
});

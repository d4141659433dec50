import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { decodeServerLine } from "@tendon/protocol";
import { afterAll, describe, expect, it, test } from "vitest";
import { HomeProcess, startHome } from "./home-process.ts";
import { run, temporaryFolder } from "./run-tendon.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());

let count = 0;
function freshFolder(settings?: string): string {
  count += 1;
  const cwd = path.join(folder.path, String(count));
  fs.mkdirSync(path.join(cwd, "data"), { recursive: true });
  if (settings !== undefined) fs.writeFileSync(path.join(cwd, "data", "home.yaml"), settings);
  return cwd;
}

describe("tendon home --mcp", () => {
  test.each([["--mcp"], ["--mcp=stdio"], ["--mcp", "stdio"]])(
    "%s %s writes only the protocol to stdout",
    async (...args) => {
      const cwd = freshFolder();
      const home = new HomeProcess({ cwd, args: args.filter((arg) => arg !== undefined) });
      expect(decodeServerLine(await home.next())).toMatchObject({
        outcome: "ok",
        message: { type: "ready" },
      });
      home.call(0, "set_light_state", { name: "salon", on: true });
      expect(await home.next()).toBe('{"type":"result","id":0,"ok":true,"result":{"ok":true}}');
      home.write("rubbish\n");
      expect(decodeServerLine(await home.next())).toMatchObject({
        outcome: "ok",
        message: { type: "error", id: null },
      });
      home.send({ type: "quit" });
      expect(await home.ended()).toEqual({ code: 0, signal: null });
      expect(home.stdout.trimEnd().split("\n")).toHaveLength(3);
      // The message about the missing settings goes to stderr, not to the client.
      expect(home.stderr).toBe(
        `tendon: no settings found; wrote the defaults to ${path.join("data", "home.yaml")}\n`,
      );
    },
  );

  it("sends only messages that the gateway can decode, including events", async () => {
    const cwd = freshFolder("features: [presence, climate, scenes]\nscenes: { a: { alarm: true } }\n");
    const home = new HomeProcess({ cwd, args: ["--mcp", "--events"] });
    const ready = decodeServerLine(await home.next());
    expect(ready.outcome).toBe("ok");
    home.call("s", "activate_scene", { name: "a" });
    home.call(2.5, "get_climate");
    home.call(3, "set_light_state", { name: "x", on: true });
    home.write("[]\n");
    const kinds: string[] = [];
    for (let line = 0; line < 6; line += 1) {
      const decoded = decodeServerLine(await home.next());
      expect(decoded.outcome).toBe("ok");
      if (decoded.outcome === "ok") kinds.push(decoded.message.type);
    }
    expect(kinds).toEqual(["result", "event", "event", "result", "error", "error"]);
    await home.quit();
  });

  it("ends when stdin ends, after it has answered the earlier calls", async () => {
    const home = await startHome({ cwd: freshFolder() });
    home.child.stdin?.end('{"type":"call","id":1,"tool":"get_alarm_status"}');
    expect(await home.ended()).toEqual({ code: 0, signal: null });
    expect(await home.next()).toContain('"armed":false');
  });

  test.each(["SIGTERM", "SIGINT"] as const)("ends on %s", async (signal) => {
    const home = await startHome({ cwd: freshFolder() });
    home.child.kill(signal);
    expect(await home.ended()).toEqual({ code: 0, signal: null });
    expect(home.stderr).not.toContain("bug");
  });

  it("ends on SIGTERM while its client does not read", async () => {
    const home = await startHome({ cwd: freshFolder() });
    home.child.stdout?.pause();
    const calls = `${'{"type":"call","id":1,"tool":"get_all_states"}\n'.repeat(200)}`;
    // More than the pipes hold both ways, so that the server is stuck in the middle of its answers.
    let written = 0;
    while (home.child.stdin?.write(calls) === true || written < 5_000_000) written += calls.length;
    home.child.kill("SIGTERM");
    home.child.stdin?.destroy();
    await new Promise((resolve) => home.child.once("exit", resolve));
    expect(home.child.exitCode).toBe(0);
    home.child.stdout?.destroy();
  });

  it("ends without an error when its client has ended", async () => {
    const home = await startHome({ cwd: freshFolder() });
    home.child.stdout?.destroy();
    home.call(1, "get_all_states");
    home.call(2, "get_all_states");
    expect(await home.ended()).toEqual({ code: 0, signal: null });
    expect(home.stderr).not.toMatch(/EPIPE|bug/);
  });

  it("answers 20,000 calls sent at once, in order", async () => {
    const home = await startHome({ cwd: freshFolder() });
    const calls = 20_000;
    for (let id = 0; id < calls; id += 1) home.call(id, id % 3 === 0 ? "get_all_states" : "get_presence");
    for (let id = 0; id < calls; id += 1) expect(await home.next()).toContain(`"id":${id},"ok":true`);
    await home.quit();
  });

  it("reads from a file and from a pipe", async () => {
    const cwd = freshFolder();
    fs.writeFileSync(
      path.join(cwd, "in"),
      '{"type":"call","id":1,"tool":"list_lights_on"}\n{"type":"quit"}\n',
    );
    const bin = fileURLToPath(new URL("../bin/tendon.js", import.meta.url));
    for (const command of [`"$0" "$1" home --mcp < in`, `cat in | "$0" "$1" home --mcp | cat`]) {
      const { stdout } = await promisify(execFile)("sh", ["-c", command, process.execPath, bin], { cwd });
      expect(stdout.trimEnd().split("\n").at(-1)).toBe(
        '{"type":"result","id":1,"ok":true,"result":{"on":[]}}',
      );
    }
  });

  it("writes no file with --no-persist", async () => {
    const cwd = freshFolder();
    const home = await startHome({ cwd, args: ["--mcp", "--no-persist"] });
    expect(await home.ask("set_alarm_state", { armed: true })).toEqual({ ok: true });
    expect(await home.ask("get_alarm_status")).toEqual({ armed: true });
    await home.quit();
    expect(home.stderr).toBe("");
    expect(fs.readdirSync(path.join(cwd, "data"))).toEqual([]);
  });

  it("rejects another mode and invalid settings before it writes to stdout", async () => {
    const other = await run(["home", "--mcp=tcp"], { cwd: freshFolder() });
    expect(other).toMatchObject({
      code: 2,
      stdout: "",
      stderr: "tendon: --mcp supports only `stdio`, got `tcp`.\n",
    });
    const bad = await run(["home", "--mcp"], { cwd: freshFolder("\nalarm_default: maybe\n") });
    expect(bad).toMatchObject({ code: 1, stdout: "" });
    expect(bad.stderr).toMatch(/home\.yaml:2: `alarm_default` must be true or false/);
  });

  it("renames an invalid state file, reports it on stderr, and continues", async () => {
    const cwd = freshFolder();
    fs.writeFileSync(path.join(cwd, "data", "home.json"), "{");
    const home = await startHome({ cwd });
    expect(await home.ask("list_lights_on")).toEqual({ on: [] });
    await home.quit();
    expect(home.stderr).toContain("home.json.broken");
    expect(fs.readFileSync(path.join(cwd, "data", "home.json.broken"), "utf8")).toBe("{");
  });

  it("answers with an error while its state is not accessible, and recovers", async () => {
    const cwd = freshFolder();
    const home = await startHome({ cwd });
    const file = path.join(cwd, "data", "home.json");
    fs.mkdirSync(file);
    expect(await home.ask("get_presence")).toBe("No se puede leer el estado de la casa");
    expect(await home.ask("set_alarm_state", { armed: true })).toBe("No se puede leer el estado de la casa");
    fs.rmdirSync(file);
    expect(await home.ask("set_alarm_state", { armed: true })).toEqual({ ok: true });
    await home.quit();
    expect(home.stderr.match(/EISDIR/g)).toHaveLength(1);
  });
});

describe("a shared home", () => {
  it("shares its state between a running server and commands", async () => {
    const cwd = freshFolder();
    const home = await startHome({ cwd });
    expect(await home.ask("list_lights_on")).toEqual({ on: [] });
    expect((await run(["home", "lights", "on", "salon"], { cwd })).code).toBe(0);
    expect(await home.ask("list_lights_on")).toEqual({ on: ["salon"] });
    expect((await run(["home", "presence", "set", "Ana"], { cwd })).code).toBe(0);
    expect(await home.ask("get_presence")).toEqual({ present: true, known_people: ["Ana"] });
    await home.ask("set_alarm_state", { armed: true });
    expect(JSON.parse((await run(["home", "status", "--json"], { cwd })).stdout)).toMatchObject({
      alarm: true,
    });
    await home.quit();
  });

  it("sends an event for a change by a command, with --events", async () => {
    const cwd = freshFolder();
    const home = await startHome({ cwd, args: ["--mcp", "--events"] });
    await run(["home", "lights", "on", "cocina"], { cwd });
    expect(await home.next()).toBe(
      '{"type":"event","event":"light_changed","data":{"name":"cocina","on":true}}',
    );
    await home.quit();
  });

  const processes = 4;
  const each = 100;
  const names = Array.from({ length: processes }, (_, who) =>
    Array.from({ length: each }, (__, light) => `p${who}-${light}`),
  );

  it(`loses none of ${processes} × ${2 * each} changes made at the same time`, async () => {
    const cwd = freshFolder(`lights: [${names.flat().join(", ")}]\n`);
    const homes = await Promise.all(names.map(async () => await startHome({ cwd })));
    await Promise.all(
      homes.map(async (home, who) => {
        for (const [id, name] of (names[who] ?? []).entries()) {
          home.call(id, "set_alarm_state", { armed: (id + who) % 2 === 0 });
          home.call(id, "set_light_state", { name, on: true });
        }
        for (let answer = 0; answer < 2 * each; answer += 1) expect(await home.next()).toContain('"ok":true');
      }),
    );
    for (const home of homes) expect(await home.ask("list_lights_on")).toEqual({ on: names.flat() });
    await Promise.all(homes.map(async (home) => await home.quit()));
    expect(fs.readdirSync(path.join(cwd, "data")).sort()).toEqual(["home.json", "home.yaml"]);
  });

  it("stays valid when processes are killed while they write", async () => {
    const cwd = freshFolder();
    const survivor = await startHome({ cwd });
    for (let round = 0; round < 4; round += 1) {
      const victim = await startHome({ cwd });
      for (let id = 0; id < 2_000; id += 1) {
        victim.call(id, "set_light_state", { name: "salon", on: id % 2 === 0 });
      }
      await victim.next();
      victim.child.kill("SIGKILL");
      await victim.ended();
      expect(await survivor.ask("set_light_state", { name: "bano", on: round % 2 === 0 })).toEqual({
        ok: true,
      });
      expect(await survivor.ask("get_all_states")).toMatchObject({ lights: { bano: round % 2 === 0 } });
    }
    await survivor.quit();
    expect(survivor.stderr).not.toContain("broken");
  });
});

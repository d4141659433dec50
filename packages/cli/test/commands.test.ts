import fs from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OpenGateway, openGateway } from "./open-gateway.ts";
import { type RunningTendon, run, start, temporaryFolder } from "./run-tendon.ts";

const folder = temporaryFolder();
const cwd = folder.path;
let gateway: OpenGateway;
let board: RunningTendon;
const alias = "test-board-1001";

beforeAll(async () => {
  gateway = await openGateway(cwd);
  fs.writeFileSync(
    path.join(cwd, "tools.yaml"),
    [
      "- name: self.note.write",
      "  description: Keeps a note.",
      "  properties: { text: { type: string } }",
      "  returns: { echo: text }",
      "- name: self.note.fail",
      "  description: Fails.",
      "  returns: { error: no paper }",
      "- name: self.note.burn",
      "  description: Fails in red.",
      '  returns: { error: "\\e[31mfire\\r\\u009b2J" }',
      "- name: self.lamp.shine",
      "  description: Lights the lamp.",
      "  properties: { 亮度: { type: integer, minimum: 0, maximum: 100 } }",
      "  returns: { echo: 亮度 }",
    ].join("\n"),
  );
  board = start(["simulate", "esp32", "--board", "test-board", "--tools", "tools.yaml"], { cwd });
  await board.until("stderr", /1 of 1 connected/);
});

afterAll(async () => {
  await board.end();
  await gateway.end();
  folder.remove();
});

async function rest(at: string): Promise<unknown> {
  const token = fs.readFileSync(path.join(cwd, "data", "admin-token"), "utf8").trim();
  const answer = await fetch(`${gateway.url}/api/v1${at}`, { headers: { authorization: `Bearer ${token}` } });
  return await answer.json();
}

describe("tendon devices", () => {
  it("shows a table for people", async () => {
    const { code, stdout } = await run(["devices"], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ALIAS\s+ID\s+STATE/);
    expect(stdout).toMatch(/test-board-1001\s+02:00:00:00:10:01\s+online\s+websocket\s+test-board/);
    expect(stdout).not.toContain("\u001b[");
  });

  it("prints the REST body with --json", async () => {
    const { stdout } = await run(["devices", "--json"], { cwd });
    const stable = (body: unknown) =>
      JSON.parse(JSON.stringify(body).replaceAll(/"lastSeenAt":"[^"]*"/g, '"lastSeenAt":""'));
    expect(stable(JSON.parse(stdout))).toEqual(stable(await rest("/devices")));
  });

  it("filters by search text and by presence", async () => {
    expect(
      JSON.parse((await run(["devices", "--json", "--search", "nothing-like-it"], { cwd })).stdout),
    ).toEqual({ devices: [], total: 0, online: 0 });
    const count = async (...options: string[]) =>
      JSON.parse((await run(["devices", "--json", ...options], { cwd })).stdout).devices.length;
    expect(await count("--online")).toBe(1);
    expect(await count("--offline")).toBe(0);
    expect(await count("--tag", "no-such-tag")).toBe(0);
    expect(await run(["devices", "--online", "--offline"], { cwd })).toMatchObject({ code: 2, stdout: "" });
    const wrong = await run(["devices", "--sort", "colour"], { cwd });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("alias, board") });
  });
});

describe("tendon tools", () => {
  it("lists the tools for agents, and with --user the user-only tools as well", async () => {
    const plain = await run(["tools", alias], { cwd });
    expect(plain.stdout).toContain("self.audio_speaker.set_volume");
    expect(plain.stdout).not.toContain("self.reboot");
    const all = await run(["tools", alias, "--user"], { cwd });
    expect(all.stdout).toContain("self.reboot (user-only)");
  });

  it("prints the REST body with --json", async () => {
    const { stdout } = await run(["tools", "02:00:00:00:10:01", "--json"], { cwd });
    expect(JSON.parse(stdout)).toEqual(await rest("/devices/02:00:00:00:10:01/tools"));
  });
});

describe("tendon call", () => {
  it("reads key=value arguments by the tool's schema", async () => {
    expect(await run(["call", alias, "self.note.write", "text=30"], { cwd })).toMatchObject({
      code: 0,
      stdout: "30\n",
    });
    expect(await run(["call", alias, "self.audio_speaker.set_volume", "volume=0"], { cwd })).toMatchObject({
      code: 0,
    });
    const status = await run(["call", alias, "self.get_device_status"], { cwd });
    expect(JSON.parse(status.stdout)).toMatchObject({ audio_speaker: { volume: 0 } });
  });

  it("accepts argument names in any script", async () => {
    expect(await run(["call", alias, "self.lamp.shine", "亮度=30"], { cwd })).toMatchObject({
      code: 0,
      stdout: "30\n",
    });
  });

  it("accepts all arguments as one JSON object, and prints the whole reply with --json", async () => {
    const { code, stdout } = await run(
      ["call", alias, "self.note.write", "--args", '{"text":"a=b"}', "--json"],
      { cwd },
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      device: "02:00:00:00:10:01",
      tool: "self.note.write",
      result: { content: [{ type: "text", text: "a=b" }], isError: false },
    });
  });

  it("names an unknown argument and lists the tool's arguments", async () => {
    for (const args of [["vol=30"], ["--args", '{"vol":30}']]) {
      const { code, stderr } = await run(["call", alias, "self.audio_speaker.set_volume", ...args], { cwd });
      expect(code).toBe(1);
      expect(stderr).toContain("/volume is required");
      expect(stderr).toContain("The tool has no argument `vol`; its arguments: volume");
    }
  });

  it("exits with 1 and prints the error code when the call fails", async () => {
    const failed = await run(["call", alias, "self.note.fail"], { cwd });
    expect(failed).toMatchObject({ code: 1, stdout: "", stderr: "tendon: device_error: no paper\n" });
    const invalid = await run(["call", alias, "self.audio_speaker.set_volume", "volume=300", "--json"], {
      cwd,
    });
    expect(invalid.code).toBe(1);
    expect(JSON.parse(invalid.stdout)).toMatchObject({ code: "arguments_invalid", status: 422 });
    expect((await run(["call", "no-such-device", "x"], { cwd })).stderr).toContain("device_unknown");
  });

  it("suggests the argument when one is misspelt", async () => {
    const misspelt = await run(["call", alias, "self.audio_speaker.set_volume", "volum=30"], { cwd });
    expect(misspelt).toMatchObject({
      code: 1,
      stderr:
        "tendon: arguments_invalid: /volume is required; there is no argument `volum`; did you mean `volume`?\n",
    });
  });

  it("removes control sequences from a device's text", async () => {
    const burnt = await run(["call", alias, "self.note.burn"], { cwd });
    expect(burnt).toMatchObject({ code: 1, stderr: "tendon: device_error: [31mfire2J\n" });
  });

  it("explains which characters an alias may have", async () => {
    const { code, stderr } = await run(["device", "rename", alias, "客厅"], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain(
      "/alias must have lower-case letters a to z, digits and dashes, start with a letter",
    );
    expect(stderr).toContain("such as `living-room`");
    expect(stderr).not.toContain("[a-z");
  });

  it("suggests the device or tool when a name is misspelt", async () => {
    const device = await run(["call", alias.toUpperCase(), "self.note.fail"], { cwd });
    expect(device.stderr).toMatch(
      /^tendon: device_unknown: no device .*; did you mean `test-board-1001`\?\n$/,
    );
    const tool = await run(["call", alias, "note_fail"], { cwd });
    expect(tool.stderr).toMatch(/^tendon: tool_unknown: .*; did you mean `self\.note\.fail`\?\n$/);
  });

  it.each([
    [["call", alias], "missing required argument"],
    [["call", alias, "self.note.write", "text"], "`text` is not of the form key=value"],
    [["call", alias, "self.note.write", "--args", "[1]"], "--args must be a JSON object"],
    [["call", alias, "self.note.write", "text=1", "--args", "{}"], "not both"],
    [["call", alias, "self.note.write", "--timeout", "5"], "Invalid duration `5`"],
    [["devices", "--nonsense"], "unknown option"],
    [["devises"], "Did you mean devices?"],
    [["serve", "--port", "many"], "whole number"],
    [["simulate", "esp32", "--fault", "nope"], "unknown fault"],
    [["simulate", "esp32", "--count", "0"], "--count must be from 1"],
    [["simulate", "esp32", "--id", "zz"], 'invalid MAC address "zz"'],
    [["simulate", "esp32", "--id", "02:00:00"], 'invalid MAC address "02:00:00"'],
    [["simulate", "esp32", "--id", "ff:ff:ff:ff:ff:ff", "--count", "2"], "there are not 2 addresses"],
    [["simulate", "esp32", "--board", "My Board"], 'board name "My Board"'],
    [["devices", "--url", "ftp://x"], "--url must start with http"],
  ])("exits with 2 for wrong usage: %j", async (args, message) => {
    const { code, stderr, stdout } = await run(args, { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(stdout).toBe("");
  });
});

describe("tendon control", () => {
  it("lists the known actions when an action is unknown", async () => {
    const { code, stderr } = await run(["control", alias, "fly"], { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(/action_unknown: .*`fly`; available: .*set_volume, .*mute/);
  });
});

describe("tendon calls", () => {
  it("lists the call history, newest first, and filters it", async () => {
    await run(["call", alias, "self.note.fail"], { cwd });
    const { stdout } = await run(["calls", "--device", alias, "--outcome", "device_error", "--json"], {
      cwd,
    });
    const { calls } = JSON.parse(stdout) as { calls: object[] };
    expect(calls[0]).toMatchObject({ tool: "self.note.fail", outcome: "device_error", principal: "admin" });
    const table = await run(["calls", "--tool", "self.note.fail"], { cwd });
    expect(table.stdout).toMatch(/WHEN\s+DEVICE\s+TOOL\s+BY\s+OUTCOME\s+MS/);
    expect(table.stdout).toContain("device_error");
    expect(table.stdout).toContain(alias);
    expect(table.stdout).not.toContain("02:00:00:00:10:01");
    expect((await run(["calls", "--outcome", "nosense"], { cwd })).stdout).toBe("No matching calls.\n");
  });
});

describe("tendon device", () => {
  it("tags and renames a device, and still finds it by its old alias", async () => {
    expect(await run(["device", "tag", alias, "office", "desk"], { cwd })).toMatchObject({
      code: 0,
      stdout: `${alias}: office desk\n`,
    });
    expect((await run(["device", "rename", alias, "my-desk"], { cwd })).stdout).toBe(
      "02:00:00:00:10:01 is now my-desk\n",
    );
    expect((await run(["call", alias, "self.get_device_status"], { cwd })).code).toBe(0);
    expect((await run(["device", "rename", "my-desk", alias], { cwd })).code).toBe(0);
    const wrong = await run(["device", "rename", alias, "My Desk"], { cwd });
    expect(wrong).toMatchObject({ code: 1 });
    expect(wrong.stderr).toContain("/alias");
  });
});

describe("tendon control", () => {
  it("steps, mutes and restores the volume, and prints the level", async () => {
    await run(["control", alias, "set_volume", "volume=50"], { cwd });
    expect(await run(["control", alias, "volume_up", "step=5"], { cwd })).toMatchObject({
      code: 0,
      stdout: "55\n",
    });
    expect(await run(["control", alias, "mute"], { cwd })).toMatchObject({ code: 0, stdout: "0\n" });
    const { stdout } = await run(["control", alias, "unmute", "--json"], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ type: "device_control_response", ok: true, action: "unmute" });
  });

  it("exits with 1 and returns the known actions when an action is unknown", async () => {
    const { code, stdout, stderr } = await run(["control", alias, "dance", "--json"], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain("action_unknown");
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, known: expect.arrayContaining(["volume_up"]) });
  });
});

describe("the command line", () => {
  it.each([
    "serve",
    "devices",
    "tools",
    "call",
    "calls",
    "control",
    "watch",
    "simulate",
    "config",
    "home",
    "doctor",
  ])("shows help for %s", async (name) => {
    const { code, stdout } = await run([name, "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain(`Usage: tendon ${name}`);
  });

  it("lists only the options that `tendon mcp` supports in its help", async () => {
    const { stdout } = await run(["mcp", "--help"]);
    expect(stdout).not.toContain("--json");
    expect(stdout).toMatch(/a token of\s+its\s+own,\s+kept\s+in\s+DATA\/mcp-token/);
  });

  it("prints its version", async () => {
    const { version } = JSON.parse(fs.readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
      version: string;
    };
    expect(await run(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  it("reports when no gateway answers, and when the token is wrong", async () => {
    const unreachable = await run(["devices", "--url", "http://127.0.0.1:9"], { cwd });
    expect(unreachable).toMatchObject({ code: 1 });
    expect(unreachable.stderr).toContain("No gateway answers at http://127.0.0.1:9");
    const secure = await run(["devices", "--url", gateway.url.replace("http:", "https:")], { cwd });
    expect([secure.code, secure.stderr]).toEqual([
      1,
      expect.stringContaining("does not use TLS. Use http://"),
    ]);
    const rejected = await run(["devices", "--token", "not-the-token"], { cwd });
    expect(rejected).toMatchObject({ code: 1 });
    expect(rejected.stderr).toContain("unauthenticated");
    expect(rejected.stderr).not.toContain("not-the-token");
  });

  it("finds its gateway by TENDON_URL and TENDON_TOKEN from any folder", async () => {
    const token = fs.readFileSync(path.join(cwd, "data", "admin-token"), "utf8").trim();
    const { code, stdout } = await run(["devices"], {
      cwd: "/",
      env: { TENDON_URL: gateway.url, TENDON_TOKEN: token },
    });
    expect(code).toBe(0);
    expect(stdout).toContain(alias);
  });
});

describe("tendon config", () => {
  it("check accepts a valid configuration and names the line of an invalid setting", async () => {
    const settings = temporaryFolder();
    expect(await run(["config", "check"], { cwd: settings.path })).toMatchObject({ code: 0 });
    fs.writeFileSync(path.join(settings.path, "tendon.yaml"), "mqtt:\n  port: 70000\n");
    const { code, stderr } = await run(["config", "check"], { cwd: settings.path });
    settings.remove();
    expect(code).toBe(1);
    expect(stderr).toContain("tendon.yaml:2");
  });

  it("show prints the effective configuration without secrets", async () => {
    const settings = temporaryFolder();
    const yaml = [
      "mqtt:",
      "  broker: mqtts://gateway:hunter2@broker.example:8883",
      "devices:",
      "  capabilities: { vision: { url: 'http://eye.example', token: hunter2 } }",
      "  stdio:",
      "    - { alias: notes, command: notes, env: { API: hunter2 } }",
    ];
    fs.writeFileSync(path.join(settings.path, "tendon.yaml"), yaml.join("\n"));
    const env = {
      TENDON_CALLS_QUEUE: "7",
      TENDON_STORAGE: "postgres://tendon:hunter2@db.example/tendon",
      TENDON_CLUSTER: "nats://hunter2@nats.example",
      TENDON_TOKEN: "hunter2-hunter2-hunter2",
    };
    const shown = await run(["config", "show", "--json"], { cwd: settings.path, env });
    const table = await run(["config", "show"], { cwd: settings.path, env });
    settings.remove();
    expect(JSON.parse(shown.stdout)).toMatchObject({
      calls: { queue: 7, timeoutMs: 30_000 },
      mqtt: { broker: "mqtts://gateway:(hidden)@broker.example:8883" },
    });
    expect(table.stdout).toMatch(/calls\.queue\s+7\s+environment\s+TENDON_CALLS_QUEUE/);
    expect(shown.stdout + table.stdout).not.toContain("hunter2");
  });
});

describe("tendon token", () => {
  it("creates a token that works, lists it without its secret, and revokes it", async () => {
    const made = await run(["token", "create", "agent", "--scope", "read"], { cwd });
    expect(made.code).toBe(0);
    const token = made.stdout.trim();
    expect((await run(["devices", "--token", token], { cwd })).code).toBe(0);
    const refused = await run(["call", alias, "self.get_device_status", "--token", token], { cwd });
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toContain("forbidden");
    const listed = await run(["token", "list", "--json"], { cwd });
    expect(listed.stdout).not.toContain(token);
    const table = await run(["token", "list"], { cwd });
    expect(table.stdout).toMatch(/LAST USED\s+CREATED BY/);
    expect(table.stdout).toMatch(/\sagent\s+read\s+all\s+never\s.*\sadmin from 127\.0\.0\.1/);
    const { tokens } = JSON.parse(listed.stdout) as { tokens: { id: string; name: string }[] };
    const id = tokens.find(({ name }) => name === "agent")?.id ?? "";
    expect((await run(["token", "revoke", id], { cwd })).code).toBe(0);
    expect((await run(["devices", "--token", token], { cwd })).stderr).toContain("unauthenticated");
    expect((await run(["token", "create", "x", "--scope", "all"], { cwd })).code).toBe(2);
    const limited = await run(["token", "create", "one", "--device", alias], { cwd });
    const seen = await run(["devices", "--json", "--token", limited.stdout.trim()], { cwd });
    expect(JSON.parse(seen.stdout)).toMatchObject({ devices: [{ alias }] });
    const ghost = await run(["token", "create", "two", "--device", "ghost"], { cwd });
    expect(ghost.code).not.toBe(0);
    expect(ghost.stderr).toContain("`ghost`");
  });
});

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { run } from "../packages/cli/test/run-tendon.ts";
import { Engines } from "./cluster/nodes.ts";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { adminToken, openSite, type Site, type SiteOptions } from "./site.ts";

const programs = fileURLToPath(new URL("./programs", import.meta.url));

type Stdio = NonNullable<NonNullable<NonNullable<SiteOptions["config"]>["devices"]>["stdio"]>[number];

async function siteWith(
  program: string,
  args: string[] = [],
  more: Partial<Stdio> = {},
  options: SiteOptions = {},
) {
  const entry = {
    alias: "lamp",
    command: process.execPath,
    args: [path.join(programs, program), ...args],
    ...more,
  };
  return await openSite({ ...options, config: { devices: { stdio: [entry] } } });
}

async function online(site: Site, alias = "lamp"): Promise<void> {
  await until(async () => (await site.device(alias))["online"] === true, `${alias} online`);
}

async function offline(site: Site): Promise<void> {
  await until(async () => (await site.device("lamp"))["online"] === false, "the program's end");
}

describe("a program with the JSON-lines protocol", () => {
  it("[PRC-1] [PRC-2] is a device like any other, its id being its alias", async () => {
    const site = await siteWith("lamp.mjs");
    await online(site);
    expect(await site.device("lamp")).toMatchObject({
      id: "lamp",
      alias: "lamp",
      kind: "process",
      transport: "stdio",
      firmware: "1.2.3",
      toolsComplete: true,
    });
    const { body } = await site.rest("GET", "/devices/lamp/tools");
    expect(body["tools"]).toContainEqual(
      expect.objectContaining({
        name: "lamp.set",
        agentName: "lamp__lamp_set",
        inputSchema: expect.objectContaining({ required: ["on"] }),
        outputSchema: expect.objectContaining({ required: ["on"] }),
      }),
    );
  });

  it("[PRC-3] answers calls with structured content, and errors with its own message", async () => {
    const site = await siteWith("lamp.mjs");
    await online(site);
    expect((await site.call("lamp", "lamp.set", { on: true })).body["result"]).toEqual({
      content: [{ type: "text", text: '{"on":true}' }],
      structuredContent: { on: true },
      isError: false,
    });
    expect((await site.call("lamp", "lamp.get")).body["result"]).toMatchObject({
      structuredContent: { on: true },
    });
    expect((await site.call("lamp", "fail")).body).toMatchObject({
      code: "device_error",
      detail: "the bulb is broken",
    });
    expect((await site.call("lamp", "lamp.set", { on: "false" })).body).toMatchObject({
      code: "arguments_invalid",
    });
    const large = 9_007_199_254_740_991;
    expect((await site.call("lamp", "big", { n: large })).body["result"]).toMatchObject({
      structuredContent: { n: large },
    });
  });

  it("[PRC-3] gets one call at a time; late answers are recognized", async () => {
    const site = await siteWith("lamp.mjs");
    await online(site);
    const events = await site.events("?type=call.late");
    expect((await site.call("lamp", "slow", {}, { timeoutMs: 50 })).body).toMatchObject({
      code: "device_timeout",
      phase: "device",
    });
    expect((await site.call("lamp", "lamp.get")).status).toBe(200);
    expect((await events.next()).data).toMatchObject({ tool: "slow", failed: false });
  });

  it("[PRC-4] sends events that become notifications", async () => {
    const site = await siteWith("lamp.mjs");
    await online(site);
    const events = await site.events("?type=device.notification&device=lamp");
    await site.call("lamp", "lamp.set", { on: true });
    expect((await events.next()).data).toEqual({ method: "lamp_switched", params: { on: true } });
  });

  it("[PRC-1] inherits PATH, HOME and LANG and its own variables, nothing else", async () => {
    process.env["A_SECRET_OF_THE_GATEWAY"] = "hidden";
    const site = await siteWith("lamp.mjs", [], { env: { COLOUR: "red" } });
    delete process.env["A_SECRET_OF_THE_GATEWAY"];
    await online(site);
    const { body } = await site.call("lamp", "environment");
    const names = Object.keys((body["result"] as { structuredContent: object }).structuredContent);
    expect(names).toContain("COLOUR");
    expect(names.filter((name) => !["PATH", "HOME", "LANG", "COLOUR"].includes(name))).toEqual([]);
  });

  it("[PRC-1] has its stderr in the log", async () => {
    const lines: string[] = [];
    const logger = pino({ level: "info" }, { write: (line) => lines.push(line) });
    const site = await siteWith("lamp.mjs", [], {}, { logger });
    await online(site);
    await until(() => lines.some((line) => line.includes("lamp program starts")));
  });

  it("[PRC-6] is used even if it writes garbage first", async () => {
    const site = await siteWith("lamp.mjs", ["rubbish"]);
    await online(site);
    expect((await site.call("lamp", "lamp.get")).status).toBe(200);
    expect(await site.metric('tendon_odd_frames_total{outcome="invalid"}')).toBeGreaterThanOrEqual(3);
    expect(await site.metric('tendon_odd_frames_total{outcome="unknown"}')).toBe(1);
    expect(await site.metric('tendon_odd_frames_total{outcome="stray"}')).toBe(1);
  });

  it("[PRC-6] is ended and restarted later if it never sends ready", async () => {
    const clock = new ManualClock();
    const lines: string[] = [];
    const logger = pino({ level: "info" }, { write: (line) => lines.push(line) });
    const site = await siteWith("lamp.mjs", ["never-ready"], {}, { clock, logger });
    await until(() => lines.filter((line) => line.includes("lamp program starts")).length === 1);
    expect((await site.call("lamp", "lamp.get")).body["code"]).toBe("tool_unknown");
    clock.advance(10_000);
    await until(() => lines.some((line) => line.includes("did not list its tools in time")));
    clock.advance(1_000);
    await until(() => lines.filter((line) => line.includes("lamp program starts")).length === 2);
  });

  it("[PRC-6] is ended if it floods the gateway", async () => {
    const lines: string[] = [];
    const logger = pino({ level: "info" }, { write: (line) => lines.push(line) });
    const site = await siteWith("lamp.mjs", ["flood"], { restart: "never" }, { logger });
    await until(() => lines.some((line) => line.includes("writes too many lines")));
    expect((await site.device("lamp"))["online"]).toBe(false);
  });

  it("[PRC-7] fails its calls at once when it exits during a call, and is restarted", async () => {
    const clock = new ManualClock();
    const site = await siteWith("lamp.mjs", [], {}, { clock });
    await online(site);
    const waiting = [site.call("lamp", "exit"), site.call("lamp", "lamp.get")];
    const [first, second] = await Promise.all(waiting);
    expect(first?.body).toMatchObject({ code: "device_disconnected", sent: true });
    expect(second?.body["code"]).toMatch(/device_disconnected|device_offline/);
    expect((await site.device("lamp"))["lastDisconnect"]).toMatchObject({
      reason: "the process exited with code 7",
    });
    expect(await site.toolNames("lamp")).toContain("lamp.get");
    clock.advance(1_000);
    await online(site);
    expect((await site.call("lamp", "lamp.get")).status).toBe(200);
  });

  it("[QUE-1] runs a call that was queued while it was away, after its restart", async () => {
    const clock = new ManualClock();
    const site = await siteWith("lamp.mjs", [], {}, { clock });
    await online(site);
    await site.call("lamp", "exit");
    await offline(site);
    const at = "/devices/lamp/tools/lamp.set/call";
    const reply = await site.rest("POST", at, { arguments: { on: true }, whenOffline: "queue" });
    expect(reply).toMatchObject({ status: 202, body: { state: "queued" } });
    clock.advance(1_000);
    const end = await until(async () => {
      const { body } = await site.rest("GET", `/calls/${reply.body["callId"]}`);
      return body["state"] === "finished" && body;
    }, "the end of the call");
    expect(end).toMatchObject({ outcome: "ok", answer: { structuredContent: { on: true } } });
  });

  it("[PRC-7] is restarted with growing delays if it keeps exiting", async () => {
    const clock = new ManualClock();
    const lines: string[] = [];
    const logger = pino({ level: "info" }, { write: (line) => lines.push(line) });
    await siteWith("lamp.mjs", ["exit-at-once"], {}, { clock, logger });
    const ends = () => lines.filter((line) => line.includes("the process exited with code 3")).length;
    for (const [round, longest] of [750, 1_500, 3_000, 6_000].entries()) {
      await until(() => ends() === round + 1);
      clock.advance(longest);
    }
    await until(() => ends() === 5);
  });

  it.each(["on-failure", "never"] as const)("[PRC-7] with restart %s is not restarted", async (restart) => {
    const clock = new ManualClock();
    const lines: string[] = [];
    const logger = pino({ level: "info" }, { write: (line) => lines.push(line) });
    const site = await siteWith("lamp.mjs", [], { restart }, { clock, logger });
    await online(site);
    void site.call("lamp", "exit");
    await offline(site);
    // Within the longest first pause, but short enough for a new start not to time out.
    clock.advance(1_000);
    if (restart === "on-failure") await online(site);
    else expect(lines.filter((line) => line.includes("lamp program starts"))).toHaveLength(1);
  });

  it("[PRC-7] whose command does not exist is listed as offline, with the reason in the log", async () => {
    const lines: string[] = [];
    const logger = pino({ level: "info" }, { write: (line) => lines.push(line) });
    const site = await siteWith("lamp.mjs", [], { command: "/nowhere/at-all" }, { logger });
    await until(() => lines.some((line) => line.includes("the command cannot be run")));
    expect(await site.device("lamp")).toMatchObject({ online: false, kind: "process" });
    expect((await site.call("lamp", "lamp.get")).body["code"]).toBe("tool_unknown");
  });

  it.each<{ faults: string[] }>([{ faults: [] }, { faults: ["deaf"] }])(
    "[PRC-5] goes with the gateway $faults",
    async ({ faults }) => {
      const lines: string[] = [];
      const logger = pino({ level: "info" }, { write: (line) => lines.push(line) });
      const site = await siteWith("lamp.mjs", faults, {}, { logger });
      await online(site);
      await site.tendon.stop();
      const reason = faults.includes("deaf")
        ? "the process was ended by SIGKILL"
        : "the process exited with code 0";
      const told = lines.filter((line) => line.includes("process ended")).map((line) => JSON.parse(line));
      // An intended exit causes no warning.
      expect(told).toEqual([expect.objectContaining({ reason, level: pino.levels.values["info"] })]);
    },
  );
});

describe("a standard MCP server as a device", () => {
  it("[PRC-8] is listed completely and called", async () => {
    const site = await siteWith("mcp-server.mjs", [], { alias: "notes", protocol: "mcp" });
    await online(site, "notes");
    expect(await site.device("notes")).toMatchObject({ board: "notes", firmware: "4.5.6", kind: "process" });
    expect(await site.toolNames("notes")).toEqual(["add", "grow", "hang", "cancelled"]);
    expect((await site.call("notes", "add", { a: 2, b: 3 })).body["result"]).toEqual({
      content: [{ type: "text", text: "5" }],
      structuredContent: { sum: 5 },
      isError: false,
    });
  });

  it.each([
    ["exits when it is probed for the newer era", "strict", ["the process exited with code 4"]],
    [
      "exits while it is asked to initialize",
      "exit-in-initialize",
      ["the process exited with code 4", "the process exited with code 5", "the process exited with code 4"],
    ],
  ])("[PRC-8] is started again at once if it %s", async (_name, mode, ends) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-strict-"));
    onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
    const lines: string[] = [];
    const logger = pino({ level: "info" }, { write: (line) => lines.push(line) });
    const args = [mode, path.join(folder, "mark")];
    const site = await siteWith("mcp-strict.mjs", args, { protocol: "mcp" }, { logger });
    await online(site);
    const told = lines.filter((line) => line.includes("process ended")).map((line) => JSON.parse(line));
    expect(told.map(({ reason }) => reason)).toEqual(ends);
    expect((await site.call("lamp", "a")).status).toBe(200);
  });

  it("[PRC-8] is listed again when its tools change", async () => {
    const site = await siteWith("mcp-server.mjs", [], { alias: "notes", protocol: "mcp" });
    await online(site, "notes");
    expect((await site.call("notes", "grow")).status).toBe(200);
    await until(async () => (await site.toolNames("notes")).includes("more"));
  });

  it("[PRC-8] is notified when a call is cancelled", async () => {
    const site = await siteWith("mcp-server.mjs", [], { alias: "notes", protocol: "mcp" });
    await online(site, "notes");
    const events = await site.events("?type=call.late,call.finished");
    expect((await site.call("notes", "hang", {}, { timeoutMs: 50 })).body["code"]).toBe("device_timeout");
    await site.call("notes", "add", { a: 1, b: 1 });
    // A cancelled call is not answered, so there is no late answer.
    expect(await events.next()).toMatchObject({ type: "call.finished", data: { tool: "hang" } });
    expect(await events.next()).toMatchObject({ type: "call.finished", data: { tool: "add" } });
    await until(async () => {
      const { body } = await site.call("notes", "cancelled");
      return JSON.stringify(body["result"]).includes('"1"');
    });
  });
});

describe("deleting a program", () => {
  const engines = new Engines();

  it("[PRC-11] is possible once the configuration no longer has it", async () => {
    const site = await siteWith("lamp.mjs");
    await online(site);
    const refused = await site.rest("DELETE", "/devices/lamp");
    expect([refused.status, refused.body["code"], refused.body["detail"]]).toEqual([
      409,
      "conflict",
      "this device is a program from the configuration; remove it from tendon.yaml, restart the gateway, then delete it",
    ]);
    expect(await site.device("lamp")).toMatchObject({ online: true });
    await site.tendon.stop();
    const again = await openSite({ config: { data: site.folder } });
    expect(await again.device("lamp")).toMatchObject({ online: false, kind: "process" });
    const deleted = await run(["device", "delete", "lamp", "--url", again.url], {
      env: { TENDON_TOKEN: adminToken },
    });
    expect(deleted).toMatchObject({ code: 0 });
    expect((await again.rest("GET", "/devices/lamp")).body["code"]).toBe("device_unknown");
    await again.tendon.stop();
    const last = await openSite({ config: { data: site.folder } });
    expect((await last.rest("GET", "/devices/lamp")).body["code"]).toBe("device_unknown");
  });

  it("[PRC-11] is refused while another node runs it", async () => {
    const fleet = await engines.newFleet();
    const command = process.execPath;
    const stdio = [{ alias: "lamp", command, args: [path.join(programs, "lamp.mjs")] }];
    const runner = await fleet.node({ config: { devices: { stdio } } });
    const other = await fleet.node();
    await until(
      async () => (await other.rest("GET", "/devices/lamp")).body["online"] === true,
      "the program",
    );
    const { status, body } = await other.rest("DELETE", "/devices/lamp");
    expect([status, body["detail"]]).toEqual([
      409,
      "this device is a program that another node runs; remove it from the tendon.yaml of that node",
    ]);
    await runner.stop();
    await until(async () => (await other.device("lamp"))["online"] === false, "its end");
    expect((await other.rest("DELETE", "/devices/lamp")).status).toBe(204);
  });
});

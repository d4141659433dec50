/** Which tools a failed action lists, and what an operator can see of unknown actions and functions. */
import { Writable } from "node:stream";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { MqttApp } from "../mqtt-app.ts";
import { tool } from "../raw-device.ts";
import { firstDevice, type Site } from "../site.ts";
import { openSpeaker, statusTool, stockTools, volumeTool } from "./speaker.ts";

const controlPath = `/devices/${firstDevice}/control`;
const controlTopic = `tendon/devices/${firstDevice}/control`;

describe("the tools of a failed action", () => {
  it("[CTL-4] are those that were called, not those that a rule denied", async () => {
    const config = { access: { rules: [{ tool: volumeTool, effect: "deny" as const }] } };
    const { site, speaker } = await openSpeaker({ config });
    const set = await site.rest("POST", controlPath, { action: "set_volume", volume: 5 });
    expect([set.status, set.body]).toMatchObject([403, { code: "forbidden", tools: [] }]);
    const up = await site.rest("POST", controlPath, { action: "volume_up" });
    expect([up.status, up.body]).toMatchObject([403, { code: "forbidden", tools: [statusTool] }]);
    expect(speaker.names).toEqual([statusTool]);
  });

  it("[CTL-4] are none for a device that is offline, a missing tool or an approval", async () => {
    const config = { access: { rules: [{ tool: volumeTool, effect: "confirm" as const }] } };
    const { site, speaker } = await openSpeaker({ config, tools: stockTools.slice(1) });
    const waits = await site.rest("POST", controlPath, { action: "set_volume", volume: 5 });
    expect(waits.body).toMatchObject({
      code: "approval_required",
      approvalId: expect.any(String),
      tools: [],
    });
    const missing = await site.rest("POST", controlPath, { action: "get_volume" });
    expect(missing.body).toMatchObject({ code: "tool_unknown", tools: [] });
    speaker.device.cut();
    await until(async () => (await site.device(firstDevice))["online"] === false);
    const offline = await site.rest("POST", controlPath, { action: "mute" });
    expect(offline.body).toMatchObject({ ok: false, tools: [] });
    expect(speaker.calls).toEqual([]);
  });

  it("[CTL-4] include a tool that the device rejected", async () => {
    const { site, speaker } = await openSpeaker();
    speaker.answers.set(volumeTool, () => ({ error: { message: "no codec" } }));
    const app = await MqttApp.open(site);
    await app.wire.subscribe(`${controlTopic}/reply`);
    expect(await app.ask(controlTopic, { action: "volume_up" })).toMatchObject({
      code: "device_error",
      tools: [statusTool, volumeTool],
    });
  });
});

const unknownTotal = (kind: string) => `tendon_control_unknown_total{kind="${kind}"}`;

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [key: string]: unknown;
}

/** A speaker whose gateway's log is recorded from the level warn. */
async function openLogged(tools = stockTools) {
  const lines: LogLine[] = [];
  const stream = new Writable({
    write(line: Buffer, _encoding, done) {
      const { time: _time, pid: _pid, hostname: _host, ...rest } = JSON.parse(line.toString());
      lines.push(rest as LogLine);
      done();
    },
  });
  const logger = pino({ level: "warn", formatters: { level: (level) => ({ level }) } }, stream);
  return { ...(await openSpeaker({ tools, logger })), lines };
}

async function history(site: Site): Promise<Record<string, unknown>[]> {
  return (await site.rest("GET", `/calls?device=${firstDevice}`)).body["calls"] as never;
}

describe("an unknown action", () => {
  it("[CTL-2] is logged at warn, counted and in the history, over REST and MQTT", async () => {
    const { site, speaker, lines } = await openLogged();
    const events = await site.events("?type=call.finished");
    const answer = await site.rest("POST", controlPath, { action: "explode", request_id: "x" });
    expect(answer.body).toMatchObject({ code: "action_unknown", callId: expect.any(String) });
    const app = await MqttApp.open(site);
    await app.wire.subscribe(`${controlTopic}/reply`);
    await app.wire.subscribe("tendon/control/reply");
    await app.ask(controlTopic, { command: "Set_Volume", volume: 5 });
    await app.ask("tendon/control", { device: firstDevice, action: "x".repeat(64) });
    const refused = { device: firstDevice, outcome: "action_unknown", principal: "admin", queuedMs: 0 };
    expect(await history(site)).toMatchObject([
      { ...refused, tool: "x".repeat(64) },
      { ...refused, tool: "Set_Volume" },
      { ...refused, tool: "explode", callId: answer.body["callId"] },
    ]);
    expect(await events.next()).toMatchObject({
      device: firstDevice,
      data: { tool: "explode", outcome: "action_unknown", callId: answer.body["callId"] },
    });
    expect(await site.metric(unknownTotal("action"))).toBe(3);
    expect(await site.metric('tendon_calls_total{outcome="action_unknown"}')).toBe(3);
    expect(lines).toEqual(
      ["explode", "Set_Volume", "x".repeat(64)].map((action) => ({
        level: "warn",
        device: firstDevice,
        action,
        principal: "admin",
        msg: "unknown device_control action",
      })),
    );
    const trace = await site.rest("GET", `/calls/${String(answer.body["callId"])}`);
    expect(trace.body).toMatchObject({ sentAt: null, detail: "unknown action `explode`" });
    expect(speaker.calls).toEqual([]);
  });

  it("[CTL-2] for a device that the token may not see is in no history of that device", async () => {
    const { site, lines } = await openLogged();
    const devices = { ids: ["02:00:00:00:00:99"] };
    const { body } = await site.rest("POST", "/tokens", { name: "other", scopes: ["read", "call"], devices });
    const headers = { authorization: `Bearer ${String(body["token"])}` };
    const answer = await site.rest("POST", controlPath, { action: "explode" }, headers);
    expect([answer.status, answer.body]).toMatchObject([400, { code: "action_unknown" }]);
    expect(answer.body["callId"]).toBeUndefined();
    expect(await history(site)).toEqual([]);
    expect(await site.metric(unknownTotal("action"))).toBe(1);
    expect(lines).toMatchObject([{ level: "warn", action: "explode", principal: "other" }]);
    expect(lines[0]?.["device"]).toBeUndefined();
  });
});

describe("an unknown function", () => {
  it("[CTL-2] is logged at warn, counted and in the history under its own name", async () => {
    const { site, speaker, lines } = await openLogged();
    speaker.answers.set("self_dance", () => ({ error: { message: "Unknown tool: self_dance" } }));
    const message = { function_call: { name: "self_dance", arguments: { fast: true } } };
    await site.rest("POST", controlPath, message);
    expect(await history(site)).toMatchObject([{ tool: "self_dance", outcome: "device_error" }]);
    expect(await site.metric(unknownTotal("function"))).toBe(1);
    expect(lines).toEqual([
      {
        level: "warn",
        device: firstDevice,
        function: "self_dance",
        principal: "admin",
        msg: "unknown device_control function",
      },
    ]);
    const { body } = await site.rest("POST", "/tokens", { name: "app", scopes: ["read", "call"] });
    const headers = { authorization: `Bearer ${String(body["token"])}` };
    const denied = await site.rest("POST", controlPath, message, headers);
    expect(denied.body).toMatchObject({ code: "forbidden", function: "self_dance", tools: [] });
    expect((await history(site))[0]).toMatchObject({ tool: "self_dance", outcome: "forbidden" });
    expect(await site.metric(unknownTotal("function"))).toBe(2);
  });

  it("[CTL-2] is not one that the device lists as a tool", async () => {
    const { site, lines } = await openLogged([...stockTools, tool("self.lamp.on")]);
    for (const name of ["self.lamp.on", "self_get_volume", volumeTool]) {
      const message = { function_call: { name, arguments: { volume: 5 } } };
      expect((await site.rest("POST", controlPath, message)).body).toMatchObject({ ok: true });
    }
    expect(await site.metric(unknownTotal("function"))).toBe(0);
    expect(lines).toEqual([]);
  });
});

describe("an action with wrong arguments", () => {
  it("[CTL-3] is in the history like any call with wrong arguments", async () => {
    const { site } = await openLogged();
    const { body } = await site.rest("POST", controlPath, { action: "set_volume", volume: "50" });
    expect(body).toMatchObject({ code: "arguments_invalid", tools: [], callId: expect.any(String) });
    expect(await history(site)).toMatchObject([
      { tool: volumeTool, outcome: "arguments_invalid", callId: body["callId"] },
    ]);
  });
});

/** Calls for devices that are away, as agents make them: the compact tools, and the hint in every `device_offline`. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeToken } from "../access/tokens.ts";
import { run } from "../functions.ts";
import { until } from "../inbox.ts";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import { type Site, startSite } from "../site.ts";
import { type Era, eras, openAgent, textOf } from "./agent.ts";
import { awayDevice, backAgain } from "./away-device.ts";

const offer = { tools: [tool("self.lamp.dim", { level: { type: "integer" } }, ["level"])] };
const dim = { tool: "lamp_dim", arguments: { level: 3 } };
const queue = { when_offline: "queue" };

let site: Site;
let devices = 0;
beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site.stop());

function away(): Promise<string> {
  devices += 1;
  return awayDevice(site, `02:00:00:00:01:${devices.toString(16).padStart(2, "0")}`, offer);
}

function back(deviceId: string): Promise<RawDevice> {
  return backAgain(site, deviceId, offer);
}

async function agentOf(era: Era, at = "/mcp") {
  const { token } = await makeToken(site, {});
  const agent = await openAgent(site, era, { token, at });
  const call = async (name: string, args: Record<string, unknown>) => {
    const result = await agent.callTool({ name, arguments: args });
    return { ...result, data: (result.structuredContent ?? {}) as { [key: string]: unknown } };
  };
  return { token, call };
}

describe.each(eras)("an agent of the %s era and a device that is away", (era) => {
  it("[SRV-18] gets a short answer with the expiry, and reads the state and the result by the call's id", async () => {
    const device = await away();
    const { call } = await agentOf(era);
    const before = Date.now();
    const queued = await call("device_call", { device, ...dim, ...queue, expires_in_s: 3_600 });
    expect(queued.isError ?? false).toBe(false);
    const { callId, expiresAt } = queued.data;
    expect(queued.data).toEqual({ callId, device, tool: "self.lamp.dim", state: "queued", expiresAt });
    expect(Date.parse(String(expiresAt)) - before).toBeGreaterThanOrEqual(3_600_000);
    expect(Date.parse(String(expiresAt)) - Date.now()).toBeLessThanOrEqual(3_600_000);
    expect(textOf(queued)).toContain(`until ${String(expiresAt)}`);
    expect(textOf(queued)).toContain(`callId: "${String(callId)}"`);
    expect(textOf(queued).length).toBeLessThan(300);
    expect((await call("device_call", { callId })).data).toMatchObject({
      callId,
      state: "queued",
      expiresAt,
    });
    const board = await back(device);
    const request = await board.nextRequest("tools/call");
    expect(request.params).toMatchObject({ name: "self.lamp.dim", arguments: { level: 3 } });
    board.reply(request.id, textContent("dimmed"));
    const ended = await until(async () => {
      const { data } = await call("device_call", { callId });
      return data["state"] === "finished" && data;
    }, "the end of the call");
    expect(ended).toMatchObject({ outcome: "ok", result: { content: [{ type: "text", text: "dimmed" }] } });
    // A device that is online is called at once.
    const live = call("device_call", { device, ...dim, ...queue });
    const next = await board.nextRequest("tools/call");
    board.reply(next.id, textContent("dimmed again"));
    expect(textOf(await live)).toBe("dimmed again");
    board.close();
  });

  it("cancels a queued call", async () => {
    const device = await away();
    const { call } = await agentOf(era);
    const { callId } = (await call("device_call", { device, ...dim, ...queue })).data;
    const cancelled = await call("device_call", { callId, cancel: true });
    expect(cancelled.data).toMatchObject({ callId, state: "finished", outcome: "cancelled" });
    const again = await call("device_call", { callId, cancel: true });
    expect(again.isError).toBe(true);
    expect(textOf(again)).toMatch(/^conflict: /);
  });

  it("names the way in the device_offline error of any tool, also where device_call is not listed", async () => {
    const device = await away();
    const { alias } = await site.device(device);
    const { call } = await agentOf(era);
    const hint = 'device_call with when_offline: "queue"';
    for (const failed of [
      await call(`${String(alias)}__lamp_dim`, { level: 3 }),
      await call("device_call", { device, ...dim }),
      await call("device_call", { device, ...dim, when_offline: "fail" }),
    ]) {
      expect(failed.isError).toBe(true);
      expect(textOf(failed)).toMatch(/^device_offline: offline since/);
      expect(textOf(failed)).toContain(hint);
    }
    const alone = await agentOf(era, `/mcp/devices/${device}`);
    expect(textOf(await alone.call("lamp_dim", { level: 3 }))).toMatch(/the endpoint \/mcp has that tool\.$/);
    const many = await call("fleet_call", { devices: [device], ...dim });
    expect(many.data).toMatchObject({ failed: 1, note: expect.stringContaining(hint) });
  });

  it("gets a job from fleet_call, whose progress counts the queued calls", async () => {
    const [one, other] = [await away(), await away()];
    const { call } = await agentOf(era);
    const started = await call("fleet_call", { devices: [one, other], ...dim, ...queue, expires_in_s: 60 });
    const { job } = started.data;
    expect(started.data).toMatchObject({
      state: "running",
      total: 2,
      note: expect.stringContaining("queued"),
    });
    const progress = async () => (await call("fleet_call", { job })).data;
    await until(async () => (await progress())["queued"] === 2, "two queued calls");
    const board = await back(one);
    const request = await board.nextRequest("tools/call");
    board.reply(request.id, textContent("dimmed"));
    await until(async () => (await progress())["ok"] === 1, "the first result");
    expect(await progress()).toMatchObject({ state: "running", total: 2, done: 1, ok: 1, queued: 1 });
    board.close();
  });

  it.each([
    ["an expiry below a second", { ...queue, expires_in_s: 0 }, "/expires_in_s"],
    ["an expiry of 31 days", { ...queue, expires_in_s: 31 * 86_400 }, "/expires_in_s"],
    ["another word than fail or queue", { when_offline: "later" }, "/when_offline"],
    ["an expiry without the queue", { expires_in_s: 60 }, "when_offline"],
    ["a call id beside a new call", { callId: "x" }, "callId"],
    ["nothing to cancel", { cancel: true }, "callId"],
  ])("rejects %s", async (_what, more, named) => {
    const { call } = await agentOf(era);
    const failed = await call("device_call", { device: "any", ...dim, ...more });
    expect(failed.isError).toBe(true);
    expect(textOf(failed)).toMatch(/^arguments_invalid: /);
    expect(textOf(failed)).toContain(named);
  });
});

describe("an agent without MCP", () => {
  it("queues a call with the function device_call", async () => {
    const device = await away();
    const { status, body } = await run(site, "device_call", { device, ...dim, ...queue });
    expect(status).toBe(200);
    const { callId } = body;
    expect(body).toMatchObject({ name: "device_call", device, tool: "self.lamp.dim" });
    expect(body["result"]).toMatchObject({ isError: false, structuredContent: { callId, state: "queued" } });
    const read = await run(site, "device_call", { callId });
    expect(read.body["result"]).toMatchObject({ structuredContent: { callId, state: "queued" } });
  });
});

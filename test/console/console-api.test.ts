/** The REST endpoints that only the console uses. */
import { describe, expect, it } from "vitest";
import { unusedName } from "../access/tokens.ts";
import { ManualClock } from "../manual-clock.ts";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";

interface Frame {
  readonly way: string;
  readonly text: string;
  readonly length: number;
}

async function framesOf(site: Site, device: string): Promise<Frame[]> {
  const { status, body } = await site.rest("GET", `/devices/${device}/frames`);
  expect(status).toBe(200);
  return body["frames"] as unknown as Frame[];
}

async function as(site: Site, request: object): Promise<Record<string, string>> {
  const { body } = await site.rest("POST", "/tokens", { name: unusedName(site), ...request });
  return { authorization: `Bearer ${String(body["token"])}` };
}

describe("frames of a device", () => {
  it("[CON-6] are returned in both directions, oldest first, to administrators only", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const frames = await framesOf(site, device.id);
    expect(frames[0]).toMatchObject({ way: "in", text: expect.stringContaining('"hello"') });
    expect(frames.map(({ way }) => way)).toContain("out");
    expect(frames.some(({ text }) => text.includes("tools/list"))).toBe(true);
    const reader = await as(site, { scopes: ["read", "call"] });
    const refused = await site.rest("GET", `/devices/${device.id}/frames`, undefined, reader);
    expect(refused.body).toMatchObject({ code: "forbidden", scope: "admin" });
    const limited = await as(site, { scopes: ["admin"], devices: { ids: ["02:00:00:00:00:99"] } });
    const unknown = await site.rest("GET", `/devices/${device.id}/frames`, undefined, limited);
    expect(unknown.body["code"]).toBe("device_unknown");
  });

  it("[CON-6] have their secrets masked, also inside text that contains JSON", async () => {
    const site = await openSite({
      config: { devices: { capabilities: { vision: { url: "http://127.0.0.1/v", token: "hidden-1" } } } },
    });
    const wifi = tool("self.wifi.join", { password: { type: "string" }, ssid: { type: "string" } });
    const device = await site.join({ tools: [wifi] });
    const call = site.call(device.id, "self.wifi.join", { ssid: "shown", password: 'hid"den-2' });
    const request = await device.nextRequest("tools/call");
    device.reply(request.id, textContent(JSON.stringify({ api_key: "hidden-3", note: "seen", pwd: 1234 })));
    const callId = String((await call).body["callId"]);
    const all = (await framesOf(site, device.id)).map(({ text }) => text).join("\n");
    for (const secret of ["hidden-1", "den-2", "hidden-3", "1234"]) expect(all).not.toContain(secret);
    for (const word of ["shown", "seen", "•••"]) expect(all).toContain(word);
    const story = await site.rest("GET", `/calls/${callId}`);
    expect(story.body["arguments"]).toEqual({ ssid: "shown", password: "•••" });
  });

  it("[CON-6] are bounded: long frames are truncated, old ones dropped, and more are kept while a client reads them", async () => {
    const site = await openSite();
    const first = await site.join({ tools: [tool("a")] });
    const second = await site.join({ deviceId: "02:00:00:00:00:02", tools: [tool("a")] });
    await framesOf(site, first.id);
    first.sendText(`{"type":"x","text":"${"é".repeat(5_000)}"}`);
    const third = await site.join({ deviceId: "02:00:00:00:00:03", tools: [tool("a")] });
    for (const [device, type] of [
      [second, "x"],
      [third, "y"],
      [second, "z"],
    ] as const) {
      for (let at = 0; at < 480; at += 1) device.sendText(`{"type":"${type}","at":${at}}`);
      await device.quiet();
    }
    const watched = await framesOf(site, first.id);
    expect(watched[0]?.text).toContain("hello");
    const long = watched.find(({ length }) => length > 5_000);
    expect(long?.text.length).toBe(2048);
    const late = await framesOf(site, second.id);
    expect(late.length).toBe(200);
    expect(late[0]?.text).toContain('"z"');
    expect((await framesOf(site, third.id)).some(({ text }) => text.includes("hello"))).toBe(false);
  });
});

describe("a call trace", () => {
  it("has the times of request, sending and end, and the device's message", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a", { n: { type: "integer" } })] });
    const call = site.call(device.id, "a", { n: 1 });
    device.refuse((await device.nextRequest("tools/call")).id, "no power");
    const callId = String((await call).body["callId"]);
    const { status, body } = await site.rest("GET", `/calls/${callId}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      callId,
      tool: "a",
      outcome: "device_error",
      arguments: { n: 1 },
      late: null,
    });
    expect(String(body["detail"])).toContain("no power");
    expect(Date.parse(String(body["askedAt"]))).toBeLessThanOrEqual(Date.parse(String(body["sentAt"])));
    const refused = await site.call(device.id, "a", { n: "x" });
    const story = await site.rest("GET", `/calls/${String(refused.body["callId"])}`);
    expect(story.body).toMatchObject({ outcome: "arguments_invalid", sentAt: null });
  });

  it("includes a late answer", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const events = await site.events("?type=call.late");
    const call = site.call(device.id, "a", {}, { timeoutMs: 30 });
    const { id } = await device.nextRequest("tools/call");
    const callId = String((await call).body["callId"]);
    device.reply(id, textContent("at last"));
    await events.nextOf("call.late");
    const { body } = await site.rest("GET", `/calls/${callId}`);
    expect(body).toMatchObject({ outcome: "device_timeout", late: { failed: false } });
  });

  it("is not found for unknown calls and for devices outside the token's limit", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const refused = await site.call(device.id, "none");
    const id = String(refused.body["callId"]);
    for (const at of ["nonsense", "019b0000-0000-7000-8000-000000000000"]) {
      expect((await site.rest("GET", `/calls/${at}`)).body["code"]).toBe("not_found");
    }
    const other = await as(site, { scopes: ["read"], devices: { ids: ["02:00:00:00:00:99"] } });
    expect((await site.rest("GET", `/calls/${id}`, undefined, other)).body["code"]).toBe("not_found");
    expect((await site.rest("GET", `/calls/${id}`)).status).toBe(200);
  });
});

describe("the overview", () => {
  it("counts devices, calls, failures and times, without entries older than its range", async () => {
    const clock = new ManualClock();
    const rules = [{ tool: "asked", effect: "confirm" as const }];
    const site = await openSite({ clock, config: { access: { rules } } });
    const device = await site.join({ tools: [tool("slow"), tool("fast"), tool("asked")] });
    const call = async (name: string, ms: number) => {
      const answer = site.call(device.id, name);
      const { id } = await device.nextRequest("tools/call");
      clock.advance(ms);
      device.reply(id, textContent("ok"));
      await answer;
    };
    await call("slow", 900);
    await call("fast", 10);
    await site.call(device.id, "none");
    // A call that waits for approval counts as a call, not as a failure.
    expect((await site.call(device.id, "asked")).body["code"]).toBe("approval_required");
    const { body } = await site.rest("GET", "/overview?range=15m");
    expect(body).toMatchObject({
      range: "15m",
      online: 1,
      calls: 4,
      failed: 1,
      failures: [{ reason: "tool_unknown", count: 1 }],
    });
    const slowest = body["slowest"] as { tool: string; p95: number }[];
    expect(slowest[0]?.tool).toBe("slow");
    expect(slowest[0]?.p95).toBeGreaterThan(800);
    expect(slowest[0]?.p95).toBeLessThan(1000);
    device.cut();
    clock.advance(2 * 3_600_000);
    const later = await site.rest("GET", "/overview?range=1h");
    expect(later.body).toMatchObject({ calls: 0, failed: 0, p50: null, slowest: [] });
    expect((await site.rest("GET", "/overview?range=24h")).body).toMatchObject({ calls: 4 });
  });

  it("counts the calls of earlier runs from the history, once, and returns the start of counting", async () => {
    const clock = new ManualClock();
    const first = await openSite({ clock });
    const device = await first.join({ tools: [tool("a")] });
    const call = async (site: Site, from: RawDevice, name: string, ms: number) => {
      const answer = site.call(from.id, name);
      const { id } = await from.nextRequest("tools/call");
      clock.advance(ms);
      from.reply(id, textContent("ok"));
      await answer;
    };
    await call(first, device, "a", 900);
    await first.call(device.id, "none");
    const before = (await first.rest("GET", "/overview?range=24h")).body;
    expect(before).toMatchObject({ calls: 2, failed: 1, since: before["from"] });
    device.cut();
    await first.tendon.stop();
    clock.advance(2 * 3_600_000);

    const second = await openSite({ clock, config: { data: first.folder } });
    const again = await second.join({ tools: [tool("a")] });
    await call(second, again, "a", 10);
    for (let view = 0; view < 2; view += 1) {
      const day = (await second.rest("GET", "/overview?range=24h")).body;
      expect(day).toMatchObject({
        calls: 3,
        failed: 1,
        online: 1,
        since: day["from"],
        failures: [{ reason: "tool_unknown", count: 1 }],
      });
      expect((day["slowest"] as { tool: string; calls: number }[])[0]).toMatchObject({ tool: "a", calls: 2 });
      const points = day["points"] as { at: string; calls: number; online: number | null }[];
      expect(points.map(({ at }) => at)).toEqual(points.map(({ at }) => at).sort());
      expect(points[0]).toMatchObject({ calls: 2, online: null });
    }
    expect((await second.rest("GET", "/overview?range=15m")).body).toMatchObject({ calls: 1, failed: 0 });
    expect((await second.rest("GET", "/calls")).body["calls"]).toHaveLength(3);
  });

  it("requires the scope read without a device limit", async () => {
    const site = await openSite();
    const caller = await as(site, { scopes: ["call"] });
    const limited = await as(site, { scopes: ["read"], devices: { tags: ["kitchen"] } });
    for (const headers of [caller, limited]) {
      expect((await site.rest("GET", "/overview", undefined, headers)).body["code"]).toBe("forbidden");
    }
    expect((await site.rest("GET", "/overview?range=9y")).status).toBe(400);
  });
});

describe("a virtual device from the console", () => {
  it("is started for administrators, and offered only in a demo gateway", async () => {
    const site = await openSite();
    expect((await site.rest("POST", "/demo/devices")).body["code"]).toBe("not_found");
    const started = await openSite({
      startDemoDevice: async (provision) => {
        provision("02:00:00:00:00:07", "client");
        return "02:00:00:00:00:07";
      },
    });
    const { status, body } = await started.rest("POST", "/demo/devices");
    expect({ status, body }).toEqual({ status: 201, body: { id: "02:00:00:00:00:07" } });
    expect((await started.rest("GET", "/session")).body["gateway"]).toMatchObject({ demo: true });
    const reader = await as(started, { scopes: ["read"] });
    expect((await started.rest("POST", "/demo/devices", undefined, reader)).status).toBe(403);
  });
});

import { describe, expect, it } from "vitest";
import type { Answer } from "../http-client.ts";
import { askAll } from "../http-client.ts";
import { ManualClock } from "../manual-clock.ts";
import { MqttApp } from "../mqtt-app.ts";
import { textContent, tool } from "../raw-device.ts";
import { firstDevice, openSite, type Site } from "../site.ts";
import { as, makeToken } from "./tokens.ts";

async function open(limits: object): Promise<{ readonly site: Site; readonly clock: ManualClock }> {
  const clock = new ManualClock();
  return { site: await openSite({ clock, config: { limits } }), clock };
}

function look(site: Site, token: string): Promise<Answer> {
  return site.rest("GET", "/devices", undefined, as(token));
}

/** Sends requests until one is rate limited; returns how many were not. */
async function untilLimited(
  ask: () => Promise<Answer>,
): Promise<{ readonly served: number; readonly last: Answer }> {
  for (let served = 0; ; served += 1) {
    const last = await ask();
    if (last.status === 429) return { served, last };
    expect(served).toBeLessThan(1_000);
  }
}

describe("the requests of one token", () => {
  it("[RATE-1] are limited over all interfaces together, without affecting other tokens", async () => {
    const { site, clock } = await open({ principal: { perSecond: 2, burst: 60 } });
    const device = await site.join({ tools: [tool("a")] });
    const busy = await makeToken(site, { name: "busy" });
    const app = await MqttApp.open(site, { token: busy.token });
    await app.wire.subscribe("tendon/#");
    const call = `tendon/devices/${firstDevice}/call`;
    const answer = app.ask(call, { request_id: "r1", tool: "a" });
    device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
    expect(await answer).toMatchObject({ ok: true });
    // Signing in and one message use two of sixty.
    const { served, last } = await untilLimited(() => look(site, busy.token));
    expect(served).toBe(58);
    expect(last.body).toMatchObject({ code: "rate_limited", retryable: true, retryAfterMs: 500 });
    expect(last.headers["retry-after"]).toBe("1");
    const limited = await app.ask(call, { request_id: "r2", tool: "a" });
    expect(limited).toMatchObject({
      request_id: "r2",
      ok: false,
      error: { code: "rate_limited", retryAfterMs: 500 },
    });
    const control = await app.ask("tendon/control", { request_id: 3, device: firstDevice, action: "mute" });
    expect(control).toMatchObject({ request_id: 3, ok: false, code: "rate_limited" });
    const mcp = await askAll(site.url, { method: "POST", path: "/mcp", headers: as(busy.token), body: "{}" });
    expect(mcp.status).toBe(429);
    expect(await device.quiet()).toEqual([]);
    expect((await site.rest("GET", "/devices")).status).toBe(200);
    clock.advance(500);
    expect((await look(site, busy.token)).status).toBe(200);
    expect((await look(site, busy.token)).status).toBe(429);
    expect(await site.metric('tendon_requests_limited_total{by="principal"}')).toBe(5);
  });
});

describe("the requests from one address", () => {
  it("[RATE-1, RATE-3] are limited before authentication, and devices do not count", async () => {
    const { site, clock } = await open({ address: { perSecond: 1, burst: 40 } });
    const { last } = await untilLimited(() => site.rest("GET", "/devices"));
    expect(last.body["code"]).toBe("rate_limited");
    expect((await look(site, "an-unknown-token-here")).status).toBe(429);
    const settings = await askAll(site.url, {
      method: "POST",
      path: "/xiaozhi/ota/",
      headers: { "device-id": "02:00:00:00:00:05", "client-id": "a-board" },
      body: "{}",
    });
    expect(settings.status).toBe(200);
    const device = await site.connect();
    await device.greet();
    await device.setUp({ tools: [tool("a")] });
    expect((await askAll(site.url, { path: "/healthz" })).status).toBe(200);
    clock.advance(1_000);
    expect((await site.rest("GET", "/devices")).body["devices"]).toMatchObject([
      { id: firstDevice, online: true },
    ]);
  });
});

describe("failed sign-ins from one address", () => {
  const limits = { failedSignIns: { perSecond: 1, burst: 5 } };

  it("[RATE-2] are limited; known tokens from there still work, and a guess learns nothing", async () => {
    const { site, clock } = await open(limits);
    const [known, late] = [await makeToken(site, { name: "known" }), await makeToken(site, { name: "late" })];
    expect((await look(site, known.token)).status).toBe(200);
    const wrong = () => look(site, "an-unknown-token-here");
    const missing = () => askAll(site.url, { path: "/api/v1/devices" });
    for (const fail of [wrong, missing, wrong, missing, wrong]) expect((await fail()).status).toBe(401);
    for (const fail of [wrong, missing]) {
      const { status, body, headers } = await fail();
      expect([status, body["code"], headers["retry-after"]]).toEqual([429, "rate_limited", "1"]);
    }
    const guessed = await look(site, late.token);
    const failed = await wrong();
    expect([guessed.status, guessed.text]).toEqual([failed.status, failed.text]);
    expect((await look(site, known.token)).status).toBe(200);
    await MqttApp.open(site, { token: known.token });
    await expect(MqttApp.open(site, { token: late.token })).rejects.toThrow();
    clock.advance(1_000);
    expect((await look(site, late.token)).status).toBe(200);
    expect((await wrong()).status).toBe(401);
    expect((await wrong()).status).toBe(429);
    expect((await look(site, late.token)).status).toBe(200);
  });

  it("[RATE-2] count over MQTT too", async () => {
    const { site } = await open(limits);
    for (let count = 0; count < 5; count += 1)
      await expect(MqttApp.open(site, { token: "an-unknown-token-here" })).rejects.toThrow();
    expect((await look(site, "an-unknown-token-here")).status).toBe(429);
  });
});

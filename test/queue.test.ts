/** Calls that wait for a device that is away: bounds, access, expiry, actions, jobs, apps over MQTT. */
import { describe, expect, it } from "vitest";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { MqttApp } from "./mqtt-app.ts";
import { type Fields, type RawDevice, textContent, tool } from "./raw-device.ts";
import { firstDevice, openSite, type Site, type SiteOptions } from "./site.ts";

const second = "02:00:00:00:00:02";
const setVolume = tool("self.audio_speaker.set_volume", { volume: { type: "integer" } }, ["volume"]);
const status = tool("self.get_device_status");
const reboot = tool("self.reboot");
const offer = { tools: [setVolume, status, tool("dim")], userTools: [reboot] };
const dayMs = 24 * 60 * 60_000;

async function away(options: SiteOptions = {}, devices = [firstDevice]): Promise<Site> {
  const site = await openSite(options);
  for (const deviceId of devices) {
    const device = await site.join({ deviceId, ...offer });
    device.close();
    await until(async () => (await site.device(deviceId))["online"] === false, "the device is offline");
  }
  return site;
}

async function back(site: Site, deviceId = firstDevice): Promise<RawDevice> {
  const device = await site.connect({ deviceId });
  await device.greet();
  await device.setUp(offer);
  return device;
}

function queue(site: Site, name: string, args: Fields = {}, more: Fields = {}, headers = {}) {
  const at = `/devices/${firstDevice}/tools/${name}/call`;
  return site.rest("POST", at, { arguments: args, whenOffline: "queue", ...more }, headers);
}

async function ended(site: Site, callId: unknown): Promise<Fields> {
  return await until(async () => {
    const { body } = await site.rest("GET", `/calls/${callId}`);
    return body["state"] === "finished" && body;
  }, "the end of the call");
}

async function token(site: Site, scopes: readonly string[], name = "app"): Promise<Record<string, string>> {
  const { body } = await site.rest("POST", "/tokens", { name, scopes });
  return { authorization: `Bearer ${body["token"]}`, id: String(body["id"]), secret: String(body["token"]) };
}

function bearer({ authorization = "" }: Record<string, string>): Record<string, string> {
  return { authorization };
}

async function answerNext(device: RawDevice, text = "done"): Promise<Fields> {
  const { id, params } = await device.nextRequest("tools/call");
  device.reply(id, textContent(text));
  return params;
}

describe("a queued call", () => {
  it.each([
    ["an expiry in the past", { expiresInMs: 0 }],
    ["an expiry below a second", { expiresInMs: 999 }],
    ["an expiry of 31 days", { expiresInMs: 31 * dayMs }],
    ["a key of 65 characters", { supersedeKey: "k".repeat(65) }],
    ["another word than fail or queue", { whenOffline: "later" }],
  ])("with %s is a bad request", async (_what, more) => {
    const site = await away();
    expect(await queue(site, "dim", {}, more)).toMatchObject({ status: 400, body: { code: "bad_request" } });
    expect((await site.rest("GET", "/calls?state=queued")).body["calls"]).toEqual([]);
  });

  it("[QUE-6] is the 33rd of its device: queue_full", async () => {
    const site = await away();
    const replies = await Promise.all(Array.from({ length: 33 }, () => queue(site, "dim")));
    expect(replies.filter(({ status: code }) => code === 202)).toHaveLength(32);
    expect(replies.find(({ status: code }) => code !== 202)).toMatchObject({
      status: 429,
      body: { code: "queue_full", full: "device" },
    });
    expect(await site.device(firstDevice)).toMatchObject({ waitingCalls: 32 });
  });

  it("[QUE-7] with the same key replaces the older one", async () => {
    const site = await away();
    const older = await queue(site, "self.audio_speaker.set_volume", { volume: 1 }, { supersedeKey: "v" });
    const other = await queue(site, "dim", {}, { supersedeKey: "v" });
    const newer = await queue(site, "self.audio_speaker.set_volume", { volume: 2 }, { supersedeKey: "v" });
    expect(await ended(site, older.body["callId"])).toMatchObject({
      outcome: "superseded",
      detail: expect.stringContaining(String(newer.body["callId"])),
    });
    const device = await back(site);
    expect(await answerNext(device)).toMatchObject({ name: "dim" });
    expect(await answerNext(device)).toMatchObject({ arguments: { volume: 2 } });
    for (const { body } of [other, newer])
      expect(await ended(site, body["callId"])).toMatchObject({ outcome: "ok" });
  });

  it("[QUE-3] expires, is shown as expired at once, and does not run", async () => {
    const clock = new ManualClock();
    const site = await away({ clock });
    const { body } = await queue(site, "dim", {}, { expiresInMs: 5_000 });
    const events = await site.events("?type=call.finished");
    clock.advance(5_000);
    expect((await site.rest("GET", `/calls/${body["callId"]}`)).body).toMatchObject({
      state: "finished",
      outcome: "expired",
    });
    await until(async () => {
      clock.advance(1_000);
      return (await site.device(firstDevice))["waitingCalls"] === 0;
    }, "the sweep");
    expect(await events.next()).toMatchObject({ data: { callId: body["callId"], outcome: "expired" } });
  });

  it.each(["revoke", "delete"] as const)("[QUE-8] is cancelled when a person %ss its device", async (how) => {
    const site = await away();
    const events = await site.events("?type=call.finished");
    const { body } = await queue(site, "dim");
    if (how === "revoke") await site.rest("POST", `/devices/${firstDevice}/revoke`);
    else await site.rest("DELETE", `/devices/${firstDevice}`);
    expect(await events.next()).toMatchObject({ data: { callId: body["callId"], outcome: "cancelled" } });
  });

  it("[QUE-3] can be cancelled by the token that asked and by admin, not by another token", async () => {
    const site = await away();
    const asker = await token(site, ["read", "call"], "asker");
    const other = await token(site, ["read", "call"], "other");
    const { body } = await queue(site, "dim", {}, {}, bearer(asker));
    const at = `/calls/${body["callId"]}`;
    expect(await site.rest("DELETE", at, undefined, bearer(other))).toMatchObject({ status: 403 });
    expect(await site.rest("DELETE", at, undefined, bearer(asker))).toMatchObject({
      status: 200,
      body: { outcome: "cancelled" },
    });
    expect(await site.rest("DELETE", "/calls/unknown")).toMatchObject({ status: 404 });
  });

  it("[QUE-2] is refused if its token was revoked meanwhile, and the next one still runs", async () => {
    const site = await away();
    const asker = await token(site, ["read", "call"]);
    const revoked = await queue(site, "dim", {}, {}, bearer(asker));
    const own = await queue(site, "dim");
    await site.rest("DELETE", `/tokens/${asker["id"]}`);
    const device = await back(site);
    await answerNext(device);
    expect(await ended(site, own.body["callId"])).toMatchObject({ outcome: "ok" });
    expect(await ended(site, revoked.body["callId"])).toMatchObject({
      outcome: "refused",
      detail: "the token was revoked or has expired",
    });
    expect(await device.quiet()).toEqual([]);
  });

  it("[QUE-2] of a user-only tool needs the scope when it is asked", async () => {
    const site = await away();
    const plain = await token(site, ["read", "call"], "plain");
    const user = await token(site, ["read", "call", "call:user"], "user");
    expect(await queue(site, "self.reboot", {}, {}, bearer(plain))).toMatchObject({ status: 403 });
    expect(await queue(site, "self.reboot", {}, {}, bearer(user))).toMatchObject({ status: 202 });
  });

  it("[QUE-2] consumes its approval when it is queued, and needs none when it runs", async () => {
    const rules = [{ tool: "dim", effect: "confirm" as const }];
    const site = await away({ config: { access: { rules } } });
    const asker = await token(site, ["read", "call"]);
    const asked = await queue(site, "dim", {}, {}, bearer(asker));
    expect(asked).toMatchObject({ status: 403, body: { code: "approval_required" } });
    await site.rest("POST", `/approvals/${asked.body["approvalId"]}/approve`);
    const { status: code, body } = await queue(site, "dim", {}, {}, bearer(asker));
    expect(code).toBe(202);
    expect((await site.rest("GET", `/approvals/${asked.body["approvalId"]}`)).body).toMatchObject({
      consumedAt: expect.any(String),
    });
    const device = await back(site);
    await answerNext(device);
    expect(await ended(site, body["callId"])).toMatchObject({
      outcome: "ok",
      approval: asked.body["approvalId"],
    });
  });

  it("[CALL-7] with an Idempotency-Key is queued once", async () => {
    const site = await away();
    const key = { "idempotency-key": "once" };
    const first = await queue(site, "dim", {}, {}, key);
    const repeat = await queue(site, "dim", {}, {}, key);
    expect([first.status, repeat.status]).toEqual([202, 202]);
    expect(repeat.body).toEqual(first.body);
    expect((await site.rest("GET", "/calls?state=queued")).body["calls"]).toHaveLength(1);
  });

  it("[QUE-4] is one of at most ten per connection of a board on WebSocket", async () => {
    const site = await away();
    for (let call = 0; call < 12; call += 1) await queue(site, "dim");
    const device = await back(site);
    for (let call = 0; call < 10; call += 1) await answerNext(device);
    await until(async () => (await site.device(firstDevice))["waitingCalls"] === 2, "two calls left");
    expect(await device.quiet()).toEqual([]);
    device.close();
    await until(async () => (await site.device(firstDevice))["online"] === false, "the device is offline");
    const again = await back(site);
    await answerNext(again);
    await answerNext(again);
    await until(async () => (await site.device(firstDevice))["waitingCalls"] === 0, "no calls left");
  });
});

describe("a queued device_control action", () => {
  it("[QUE-1] that is composed of several calls is one queued call", async () => {
    const site = await away();
    const message = { type: "device_control", action: "volume_up", request_id: "r1", whenOffline: "queue" };
    const reply = await site.rest("POST", `/devices/${firstDevice}/control`, message);
    expect(reply).toMatchObject({
      status: 202,
      body: { type: "device_control_response", request_id: "r1", ok: true, state: "queued", tools: [] },
    });
    const device = await back(site);
    expect(await answerNext(device, JSON.stringify({ audio_speaker: { volume: 40 } }))).toMatchObject({
      name: "self.get_device_status",
    });
    expect(await answerNext(device)).toMatchObject({ arguments: { volume: 50 } });
    const { callId } = reply.body;
    expect(await ended(site, callId)).toMatchObject({ outcome: "ok", tool: "self.audio_speaker.volume_up" });
    const history = await until(async () => {
      const { body } = await site.rest("GET", "/calls");
      return (body["calls"] as Fields[]).length > 0 && body["calls"];
    }, "the history");
    expect(history).toMatchObject([{ callId, outcome: "ok" }]);
  });

  it("[QUE-1] with a tool of its own is a queued call of that tool", async () => {
    const site = await away();
    const message = { action: "set_volume", volume: 30, whenOffline: "queue" };
    const reply = await site.rest("POST", `/devices/${firstDevice}/control`, message);
    expect(reply).toMatchObject({ status: 202, body: { tool: "self.audio_speaker.set_volume" } });
    const device = await back(site);
    expect(await answerNext(device)).toMatchObject({ arguments: { volume: 30 } });
    expect(await ended(site, reply.body["callId"])).toMatchObject({ outcome: "ok" });
  });
});

describe("a call to many devices of which some are away", () => {
  it("[QUE-1][CALL-8] is a job that ends when all its calls have run", async () => {
    const site = await away({}, [firstDevice, second]);
    const device = await back(site);
    const target = { devices: [firstDevice, second] };
    const reply = site.rest("POST", "/calls", { target, tool: "dim", whenOffline: "queue" });
    await answerNext(device);
    const { status: code, body } = await reply;
    expect(code).toBe(202);
    const at = `/jobs/${body["job"]}`;
    const waiting = await until(async () => {
      const job = (await site.rest("GET", at)).body;
      return job["ok"] === 1 && job;
    }, "the live call");
    expect(waiting).toMatchObject({ state: "running", total: 2, ok: 1, failed: 0, queued: 1 });
    expect(waiting["results"]).toContainEqual(
      expect.objectContaining({ device: second, state: "queued", callId: expect.any(String), ok: false }),
    );
    await answerNext(await back(site, second));
    const done = await until(async () => {
      const job = (await site.rest("GET", at)).body;
      return job["state"] === "done" && job;
    }, "the end of the job");
    expect(done).toMatchObject({ total: 2, ok: 2, failed: 0, queued: 0 });
  });
});

describe("an app over MQTT", () => {
  it("[APP-7] gets a second reply when its queued call has ended", async () => {
    const site = await away();
    const { secret = "" } = await token(site, ["read", "call"]);
    const app = await MqttApp.open(site, { token: secret });
    const topic = `tendon/devices/${firstDevice}/call`;
    await app.wire.subscribe(`${topic}/reply`);
    app.publish(topic, { request_id: 7, tool: "dim", whenOffline: "queue" });
    const first = await app.next(`${topic}/reply`);
    expect(first).toMatchObject({ request_id: 7, ok: true, state: "queued", callId: expect.any(String) });
    const device = await back(site);
    await answerNext(device);
    expect(await app.next(`${topic}/reply`)).toMatchObject({
      request_id: 7,
      ok: true,
      callId: first["callId"],
      result: { content: [{ text: "done" }] },
    });
  });
});

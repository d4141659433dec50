import { describe, expect, it } from "vitest";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { textContent, tool } from "./raw-device.ts";
import { RestartingGateway } from "./restarting-gateway.ts";
import { openSite } from "./site.ts";

const key = { "idempotency-key": "key-1" };

describe("a call with an Idempotency-Key", () => {
  it("[CALL-7] runs once: a repeat gets the first answer", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const at = `/devices/${device.id}/tools/a/call`;
    const first = site.rest("POST", at, { arguments: { x: 1 } }, key);
    const { id } = await device.nextRequest("tools/call");
    const second = site.rest("POST", at, { arguments: { x: 1 } }, key);
    await until(async () => (await site.device(device.id))["queuedCalls"] === 0);
    device.reply(id, textContent("once"));
    const third = await site.rest("POST", at, { arguments: { x: 1 } }, key);
    expect((await first).body).toEqual(third.body);
    expect((await second).body).toEqual(third.body);
    expect(await device.quiet()).toEqual([]);
  });

  it("[CALL-7] conflicts with another request under the same key", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a"), tool("b")] });
    const first = site.rest("POST", `/devices/${device.id}/tools/a/call`, { arguments: { x: 1 } }, key);
    device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
    expect((await first).status).toBe(200);
    for (const [name, args] of [
      ["a", { x: 2 }],
      ["b", { x: 1 }],
    ] as const) {
      const answer = await site.rest(
        "POST",
        `/devices/${device.id}/tools/${name}/call`,
        { arguments: args },
        key,
      );
      expect([answer.status, answer.body["code"]]).toEqual([409, "conflict"]);
    }
    expect(await device.quiet()).toEqual([]);
  });

  it("[CALL-7] can be retried when it never reached its device", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const at = `/devices/${device.id}/tools/a/call`;
    device.cut();
    await until(async () => (await site.device(device.id))["online"] === false);
    expect((await site.rest("POST", at, {}, key)).body["code"]).toBe("device_offline");
    const again = await site.join({ tools: [tool("a")] });
    const answer = site.rest("POST", at, {}, key);
    again.reply((await again.nextRequest("tools/call")).id, textContent("ok"));
    expect((await answer).status).toBe(200);
  });

  it("[CALL-7] is not sent again when it may have been carried out", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = await site.join({ tools: [tool("a")] });
    const at = `/devices/${device.id}/tools/a/call`;
    const first = site.rest("POST", at, { timeoutMs: 1_000 }, key);
    await device.nextRequest("tools/call");
    clock.advance(1_000);
    expect((await first).body).toMatchObject({ code: "device_timeout", sent: true });
    expect((await site.rest("POST", at, { timeoutMs: 1_000 }, key)).body).toMatchObject({
      code: "device_timeout",
      sent: true,
    });
    expect(await device.quiet()).toEqual([]);
  });

  it("[CALL-7] continues when its caller disconnects, and the repeat gets its answer", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const at = `/devices/${device.id}/tools/a/call`;
    const caller = new AbortController();
    const first = site.rest("POST", at, {}, key, caller.signal).catch(() => "hung up");
    const { id } = await device.nextRequest("tools/call");
    caller.abort();
    expect(await first).toBe("hung up");
    const second = site.rest("POST", at, {}, key);
    device.reply(id, textContent("done anyway"));
    expect((await second).body["result"]).toEqual(textContent("done anyway"));
  });
});

describe("a fan-out", () => {
  it("[CALL-8] returns a result for each device, in order, and the number of failures", async () => {
    const site = await openSite();
    const ids = ["02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"] as const;
    const good = await site.join({ deviceId: ids[0], tools: [tool("a")] });
    const bad = await site.join({ deviceId: ids[1], tools: [tool("a")] });
    await site.join({ deviceId: ids[2], tools: [tool("other")] });
    const answer = site.rest("POST", "/calls", { target: { all: true }, tool: "a", arguments: { x: 1 } });
    good.reply((await good.nextRequest("tools/call")).id, textContent("ok"));
    bad.refuse((await bad.nextRequest("tools/call")).id, "no");
    const { status, body } = await answer;
    expect(status).toBe(200);
    expect(body).toMatchObject({ ok: 1, failed: 2 });
    expect(body["results"]).toEqual([
      expect.objectContaining({ device: ids[0], ok: true, result: textContent("ok") }),
      expect.objectContaining({
        device: ids[1],
        ok: false,
        error: expect.objectContaining({ code: "device_error" }),
      }),
      expect.objectContaining({
        device: ids[2],
        ok: false,
        error: expect.objectContaining({ code: "tool_unknown" }),
      }),
    ]);
  });

  it.each([
    ["no target", { tool: "a" }],
    ["no tool", { target: { all: true } }],
    ["an empty target", { target: {}, tool: "a" }],
    ["two targets in one", { target: { all: true, devices: ["x"] }, tool: "a" }],
    ["an unknown key", { target: { all: true }, tool: "a", args: {} }],
  ])("[CALL-8] with %s is a bad request", async (_, body) => {
    const site = await openSite();
    const answer = await site.rest("POST", "/calls", body);
    expect([answer.status, answer.body["code"]]).toEqual([400, "bad_request"]);
  });

  it("[CALL-8] reports an unknown job as not found", async () => {
    const site = await openSite();
    const { status, body } = await site.rest("GET", "/jobs/nothing");
    expect([status, body["code"]]).toEqual([404, "not_found"]);
  });
});

describe("after a restart", () => {
  it("[CALL-7] a repeat still gets the first answer", async () => {
    const gateway = await RestartingGateway.start();
    const ask = (body: unknown) => gateway.rest("POST", at, body, undefined, key);
    const deviceId = "02:00:00:00:00:01";
    const at = `/devices/${deviceId}/tools/a/call`;
    const device = await gateway.join(deviceId, { tools: [tool("a")] });
    const first = ask({});
    device.reply((await device.nextRequest("tools/call")).id, textContent("once"));
    const answered = (await first).body;
    await gateway.restart();
    const again = await gateway.join(deviceId, { tools: [tool("a")] });
    expect((await ask({})).body).toEqual(answered);
    expect((await ask({ arguments: { x: 1 } })).body["code"]).toBe("conflict");
    expect(await again.quiet()).toEqual([]);
  });
});

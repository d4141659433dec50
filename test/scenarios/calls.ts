import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site, type SiteOptions } from "../site.ts";
import type { DeviceTransport } from "../transport.ts";

const tools = [tool("a"), tool("b"), tool("self.reboot"), tool("self.lamp.set_level"), tool("self.lamp.get")];

export function callScenarios(transport: DeviceTransport): void {
  async function joined(options: SiteOptions = {}): Promise<{ site: Site; device: RawDevice }> {
    const site = await openSite({ transport, ...options });
    return { site, device: await site.join({ transport, tools }) };
  }

  async function queued(site: Site, device: RawDevice, count: number): Promise<void> {
    await until(async () => (await site.device(device.id))["queuedCalls"] === count, `${count} queued calls`);
  }

  describe("a call", () => {
    it("[DEV-2] [RPC-3] is sent as one request in the envelope, and its answer is returned", async () => {
      const { site, device } = await joined();
      const answer = site.call(device.id, "a", { x: 1 });
      const { message, id } = await device.nextRequest("tools/call");
      expect(message).toEqual({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name: "a", arguments: { x: 1 } },
      });
      expect(device.frames.at(-1)).toMatchObject({
        session_id: transport.beginsWithHello ? device.sessionId : expect.any(String),
        type: "mcp",
      });
      device.reply(id, textContent("done"));
      const { status, body } = await answer;
      expect(status).toBe(200);
      expect(body).toEqual({
        callId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        device: device.id,
        tool: "a",
        result: textContent("done"),
        queuedMs: expect.any(Number),
        durationMs: expect.any(Number),
      });
    });

    it.each(["", "stale", "no session\\u0000"])(
      "[DEV-2] is answered with any session_id (%j)",
      async (id) => {
        const { site, device } = await joined();
        const answer = site.call(device.id, "a");
        device.sessionId = id;
        device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
        expect((await answer).status).toBe(200);
      },
    );

    it("[RPC-1] [RPC-2] waits for the previous one; ids increase by one", async () => {
      const { site, device } = await joined();
      const order: string[] = [];
      const ids: number[] = [];
      const answers = ["a", "b", "a", "b"].map(async (name, at) => {
        const answer = await site.call(device.id, name, { at });
        order.push(String(at));
        return answer;
      });
      await queued(site, device, 3);
      for (let count = 0; count < 4; count += 1) {
        const request = await device.nextRequest("tools/call");
        expect(device.wire.untaken).toEqual([]);
        ids.push(request.id);
        device.reply(request.id, textContent(JSON.stringify(request.params)));
      }
      for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
      expect(order).toHaveLength(4);
      expect(ids).toEqual([0, 1, 2, 3].map((step) => (ids[0] ?? 0) + step));
    });

    it("[RPC-1] is served in order of arrival", async () => {
      const { site, device } = await joined();
      const answers = [];
      for (let at = 0; at < 5; at += 1) {
        answers.push(site.call(device.id, "a", { at }));
        if (at > 0) await queued(site, device, at);
        else await until(() => device.wire.untaken.length === 1);
      }
      for (let at = 0; at < 5; at += 1) {
        const request = await device.nextRequest("tools/call");
        expect(request.params["arguments"]).toEqual({ at });
        device.reply(request.id, textContent(`${at}`));
      }
      const texts = (await Promise.all(answers)).map(({ body }) => body["result"]);
      expect(texts).toEqual([0, 1, 2, 3, 4].map((at) => textContent(`${at}`)));
    });

    it("[RPC-1] waits for listing and other internal requests", async () => {
      const { site, device } = await joined();
      const first = site.call(device.id, "a");
      const request = await device.nextRequest("tools/call");
      const second = site.call(device.id, "b");
      await queued(site, device, 1);
      device.notify("notifications/tools/list_changed");
      await queued(site, device, 2);
      device.reply(request.id, textContent("1"));
      device.reply((await device.nextRequest("tools/list")).id, { tools });
      // A waiting call runs between two pages, so that a long list does not delay callers.
      device.reply((await device.nextRequest("tools/call")).id, textContent("2"));
      device.reply((await device.nextRequest("tools/list")).id, { tools });
      expect([(await first).status, (await second).status]).toEqual([200, 200]);
    });

    it("is rejected with queue_full when 32 are waiting", async () => {
      const { site, device } = await joined();
      const waiting = Array.from({ length: 33 }, () => site.call(device.id, "a"));
      await queued(site, device, 32);
      const refused = await site.call(device.id, "a");
      expect(refused.status).toBe(429);
      expect(refused.body).toMatchObject({ code: "queue_full", retryable: true });
      for (let count = 0; count < 33; count += 1) {
        device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
      }
      expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([200]));
    });

    it("waits in a queue of the length of calls.queue", async () => {
      const { site, device } = await joined({ config: { calls: { queue: 1 } } });
      const first = site.call(device.id, "a");
      const request = await device.nextRequest("tools/call");
      const second = site.call(device.id, "a");
      await queued(site, device, 1);
      expect((await site.call(device.id, "a")).body["code"]).toBe("queue_full");
      device.reply(request.id, textContent("1"));
      device.reply((await device.nextRequest("tools/call")).id, textContent("2"));
      expect([(await first).status, (await second).status]).toEqual([200, 200]);
    });

    it("[CALL-2] [CALL-3] times out with its phase, and frees the device", async () => {
      const clock = new ManualClock();
      const { site, device } = await joined({ clock });
      const sent = site.call(device.id, "a", {}, { timeoutMs: 1_000 });
      await device.nextRequest("tools/call");
      const waiting = site.call(device.id, "a", {}, { timeoutMs: 500 });
      await queued(site, device, 1);
      const next = site.call(device.id, "b", {}, { timeoutMs: 60_000 });
      await queued(site, device, 2);
      clock.advance(1_000);
      expect(await sent).toMatchObject({
        status: 504,
        body: { code: "device_timeout", phase: "device", sent: true, retryable: false },
      });
      const unsent = { code: "device_timeout", phase: "queue", sent: false, retryable: true };
      expect((await waiting).body).toMatchObject(unsent);
      const request = await device.nextRequest("tools/call");
      expect(request.params["name"]).toBe("b");
      device.reply(request.id, textContent("ok"));
      expect((await next).status).toBe(200);
    });

    it.each([
      ["self.lamp.get", true],
      ["self.lamp.set_level", true],
      ["a", false],
      ["self.reboot", false],
    ])("[CALL-9] of %s that may have run says whether it can be repeated", async (name, retryable) => {
      const clock = new ManualClock();
      const { site, device } = await joined({ clock });
      const overdue = site.call(device.id, name, {}, { timeoutMs: 1_000 });
      await device.nextRequest("tools/call");
      clock.advance(1_000);
      expect((await overdue).body).toMatchObject({ code: "device_timeout", sent: true, retryable });
      if (name === "self.reboot") return;
      const lost = site.call(device.id, name);
      await device.nextRequest("tools/call");
      device.cut();
      expect((await lost).body).toMatchObject({ code: "device_disconnected", sent: true, retryable });
    });

    it("[CALL-2] is not sent when it times out in the queue", async () => {
      const clock = new ManualClock();
      const { site, device } = await joined({ clock });
      const first = site.call(device.id, "a");
      const request = await device.nextRequest("tools/call");
      const waiting = site.call(device.id, "b", {}, { timeoutMs: 1_000 });
      await queued(site, device, 1);
      clock.advance(1_000);
      expect((await waiting).body).toMatchObject({ code: "device_timeout", phase: "queue", sent: false });
      device.reply(request.id, textContent("ok"));
      expect((await first).status).toBe(200);
      expect(await device.quiet()).toEqual([]);
    });

    it.each([
      ["a", 30_000],
      ["self.camera.take_photo", 75_000],
    ])("%s has %i ms without a deadline of the caller", async (name, ms) => {
      const clock = new ManualClock();
      const site = await openSite({ transport, clock });
      const device = await site.join({ transport, tools: [tool(name)] });
      const answer = site.call(device.id, name);
      // [CAM-1] A camera gets its ticket first.
      if (name !== "a") device.reply((await device.nextRequest("initialize")).id, {});
      await device.nextRequest("tools/call");
      for (let passed = 0; passed < ms - 5_000; passed += 5_000) {
        clock.advance(5_000);
        expect(await device.quiet()).toEqual([]);
      }
      clock.advance(4_999);
      expect((await site.device(device.id))["online"]).toBe(true);
      clock.advance(1);
      expect((await answer).body).toMatchObject({ code: "device_timeout", phase: "device" });
    });

    it("[RPC-5] reports a late answer, which does not affect the next call", async () => {
      const clock = new ManualClock();
      const { site, device } = await joined({ clock });
      const events = await site.events("?type=call.late,call.finished");
      const late = site.call(device.id, "a", {}, { timeoutMs: 1_000 });
      const request = await device.nextRequest("tools/call");
      clock.advance(1_000);
      const { callId } = (await late).body;
      const next = site.call(device.id, "b");
      const second = await device.nextRequest("tools/call");
      clock.advance(500);
      device.reply(request.id, textContent("too late"));
      device.reply(second.id, textContent("in time"));
      expect((await next).body["result"]).toEqual(textContent("in time"));
      const reported = [await events.next(), await events.next(), await events.next()];
      // Two nodes report independently; one node reports in order.
      if (site.tendon.config.cluster === undefined)
        expect(reported[0]?.data).toMatchObject({ callId, outcome: "device_timeout" });
      const finished = reported.filter(({ type }) => type === "call.finished").map(({ data }) => data);
      expect(finished).toHaveLength(2);
      expect(finished).toContainEqual(expect.objectContaining({ callId, outcome: "device_timeout" }));
      expect(reported.find(({ type }) => type === "call.late")).toMatchObject({
        device: device.id,
        data: { callId, tool: "a", lateMs: 500, failed: false },
      });
    });

    it("[RPC-5] is settled once: second replies and unknown ids have no effect", async () => {
      const { site, device } = await joined();
      const first = site.call(device.id, "a");
      const { id } = await device.nextRequest("tools/call");
      for (const stray of [id + 1, id - 1, 0, -1, 2_147_483_647]) device.reply(stray, textContent("forged"));
      for (const odd of ["mine", id + 0.5, null, [id], { id }])
        device.sendMcp({ jsonrpc: "2.0", id: odd, result: textContent("forged") });
      device.reply(id, textContent("real"));
      device.reply(id, textContent("again"));
      expect((await first).body["result"]).toEqual(textContent("real"));
      const second = site.call(device.id, "b");
      const next = await device.nextRequest("tools/call");
      device.reply(id, textContent("again"));
      device.reply(next.id, textContent("second"));
      expect((await second).body["result"]).toEqual(textContent("second"));
      expect(await site.metric('tendon_odd_frames_total{outcome="stray"}')).toBe(7);
    });

    it("[CALL-3] frees the device at once when its caller disconnects", async () => {
      const { site, device } = await joined();
      const events = await site.events("?type=call.finished");
      const running = new AbortController();
      const waiting = new AbortController();
      const at = `/devices/${device.id}/tools/a/call`;
      const first = site.rest("POST", at, {}, {}, running.signal).catch(() => "hung up");
      await device.nextRequest("tools/call");
      const second = site.rest("POST", at, {}, {}, waiting.signal).catch(() => "hung up");
      await queued(site, device, 1);
      const third = site.call(device.id, "b");
      await queued(site, device, 2);
      waiting.abort();
      await queued(site, device, 1);
      running.abort();
      const next = await device.nextRequest("tools/call");
      expect(next.params["name"]).toBe("b");
      device.reply(next.id, textContent("ok"));
      expect((await third).status).toBe(200);
      expect([await first, await second]).toEqual(["hung up", "hung up"]);
      const outcomes = [await events.next(), await events.next(), await events.next()];
      expect(outcomes.map(({ data }) => data["outcome"])).toEqual(["cancelled", "cancelled", "ok"]);
    });

    it("[CALL-5] waits for the device's first tool list", async () => {
      const site = await openSite({ transport });
      const device = await site.connect({ transport });
      await device.greet();
      const answer = site.call(device.id, "a");
      const list = site.toolNames(device.id);
      await device.setUp({ tools });
      device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
      expect((await answer).status).toBe(200);
      expect(await list).toEqual(tools.map(({ name }) => name));
    });

    it("[CALL-2] times out while it waits for the first tool list", async () => {
      const clock = new ManualClock();
      const site = await openSite({ transport, clock });
      const device = await site.connect({ transport });
      await device.greet();
      await device.nextRequest("initialize");
      const before = await clock.settled();
      const answer = site.call(device.id, "a", {}, { timeoutMs: 500 });
      await until(() => clock.pending > before);
      clock.advance(500);
      expect((await answer).body).toMatchObject({ code: "device_timeout", phase: "queue", sent: false });
    });

    it("[CALL-3] leaves no state when its caller disconnects before the first tool list", async () => {
      const clock = new ManualClock();
      const site = await openSite({ transport, clock });
      const device = await site.connect({ transport });
      await device.greet();
      await device.nextRequest("initialize");
      const before = await clock.settled();
      const caller = new AbortController();
      const at = `/devices/${device.id}/tools/a/call`;
      const answer = site.rest("POST", at, {}, {}, caller.signal).catch(() => "hung up");
      await until(() => clock.pending > before);
      caller.abort();
      expect(await answer).toBe("hung up");
      await until(() => {
        // The history is written a moment later, by its own timer.
        clock.advance(1);
        return clock.pending === before;
      }, "the end of the wait");
    });

    it("[CALL-2] is not sent if its deadline has passed when its turn comes", async () => {
      const clock = new ManualClock();
      const site = await openSite({ transport, clock });
      const device = await site.join({ transport, tools });
      const first = site.call(device.id, "a", {}, { timeoutMs: 1_000 });
      await device.nextRequest("tools/call");
      const others = [1, 2, 3].map(() => site.call(device.id, "b", {}, { timeoutMs: 1_000 }));
      await until(async () => (await site.device(device.id))["queuedCalls"] === 3);
      clock.advance(1_000);
      expect((await first).body).toMatchObject({ phase: "device" });
      for (const other of others) expect((await other).body).toMatchObject({ phase: "queue", sent: false });
      expect(await device.quiet()).toEqual([]);
    });

    it("[CALL-6] ends with one event, in success and failure", async () => {
      const { site, device } = await joined();
      const events = await site.events("?type=call.finished");
      const good = site.call(device.id, "a");
      device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
      const bad = site.call(device.id, "b");
      device.refuse((await device.nextRequest("tools/call")).id, "no");
      const said = site.call(device.id, "b");
      device.reply((await device.nextRequest("tools/call")).id, { content: [], isError: true });
      const unknown = site.call(device.id, "nothing");
      const answers = [await good, await bad, await said, await unknown];
      const seen = [await events.next(), await events.next(), await events.next(), await events.next()];
      expect(answers.map(({ status }) => status)).toEqual([200, 502, 200, 404]);
      expect(new Set(seen.map(({ data }) => data["callId"]))).toEqual(
        new Set(answers.map(({ body }) => body["callId"])),
      );
      expect(seen.map(({ data }) => data["outcome"]).sort()).toEqual([
        "device_error",
        "ok",
        "tool_error",
        "tool_unknown",
      ]);
      for (const { data } of seen)
        expect(data).toMatchObject({
          principal: expect.stringMatching(/^(admin|mcp-agent)$/),
          tool: expect.any(String),
        });
    });
  });
}

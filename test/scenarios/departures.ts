import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import type { DeviceTransport } from "../transport.ts";

const tools = [tool("a"), tool("b")];
const userTools = [tool("self.reboot"), tool("self.upgrade_firmware")];
/** The contract requires 100 ms; a loaded machine may need longer, but never as long as a deadline. */
const atOnceMs = 5_000;

export function departureScenarios(transport: DeviceTransport): void {
  async function joined(): Promise<{ site: Site; device: RawDevice }> {
    const site = await openSite({ transport });
    return { site, device: await site.join({ transport, tools, userTools }) };
  }

  async function queued(site: Site, device: RawDevice, count: number): Promise<void> {
    await until(async () => (await site.device(device.id))["queuedCalls"] === count);
  }

  describe("a device that disconnects", () => {
    it.each(["cut", "close"] as const)("[CALL-4] by %s fails sent and queued calls at once", async (how) => {
      const { site, device } = await joined();
      const sent = site.call(device.id, "a");
      await device.nextRequest("tools/call");
      const waiting = [site.call(device.id, "b"), site.call(device.id, "a")];
      await queued(site, device, 2);
      const left = performance.now();
      device[how]();
      const first = await sent;
      const others = await Promise.all(waiting);
      expect(performance.now() - left).toBeLessThan(atOnceMs);
      expect(first).toMatchObject({ status: 502, body: { code: "device_disconnected", sent: true } });
      for (const other of others) {
        expect(other).toMatchObject({ status: 502, body: { code: "device_disconnected", sent: false } });
      }
    });

    it("[CALL-4] is offline with the reason, and no call waits for it to reconnect", async () => {
      const { site, device } = await joined();
      const events = await site.events("?type=device.offline");
      device.cut();
      expect(await events.next()).toMatchObject({ device: device.id, data: { reason: expect.any(String) } });
      expect(await site.call(device.id, "a")).toMatchObject({
        status: 503,
        body: { code: "device_offline", retryable: true, offlineSince: expect.stringMatching(/Z$/) },
      });
      const view = await site.device(device.id);
      expect(view).toMatchObject({ online: false, connectedAt: null, queuedCalls: 0 });
      expect(view["lastDisconnect"]).toMatchObject({ reason: expect.stringMatching(/\w/) });
      expect(Date.parse(String(view["lastSeenAt"]))).toBeGreaterThan(0);
    });

    it("[MCP-13] after self.reboot completes the call", async () => {
      const { site, device } = await joined();
      const events = await site.events("?type=call.finished");
      const reboot = site.call(device.id, "self.reboot");
      await device.nextRequest("tools/call");
      const behind = site.call(device.id, "a");
      await queued(site, device, 1);
      device.cut();
      const { status, body } = await reboot;
      expect(status).toBe(200);
      expect(body["result"]).toMatchObject({ isError: false, content: [{ type: "text" }] });
      expect((await behind).body).toMatchObject({ code: "device_disconnected", sent: false });
      const outcomes = [await events.next(), await events.next()].map(({ data }) => data["outcome"]);
      expect(outcomes.sort()).toEqual(["device_disconnected", "ok"]);
    });

    it.each(["revoke", "delete"] as const)(
      "[MCP-13] because the gateway ends its connection (%s) does not complete the call",
      async (how) => {
        const { site, device } = await joined();
        const reboot = site.call(device.id, "self.reboot");
        await device.nextRequest("tools/call");
        const at = `/devices/${device.id}`;
        await (how === "revoke" ? site.rest("POST", `${at}/revoke`) : site.rest("DELETE", at));
        expect((await reboot).body).toMatchObject({ code: "device_disconnected", sent: true });
      },
    );

    it("[MCP-13] before such a call was sent does not complete it", async () => {
      const { site, device } = await joined();
      const running = site.call(device.id, "a");
      await device.nextRequest("tools/call");
      const reboot = site.call(device.id, "self.reboot");
      await queued(site, device, 1);
      device.cut();
      expect((await reboot).body).toMatchObject({ code: "device_disconnected", sent: false });
      expect((await running).status).toBe(502);
    });

    it("[CALL-4] during its first listing fails the calls that wait for it", async () => {
      const clock = new ManualClock();
      const site = await openSite({ transport, clock });
      const device = await site.connect({ transport });
      await device.greet();
      await device.nextRequest("initialize");
      const events = await site.events("?type=call.finished");
      const before = await clock.settled();
      const answer = site.call(device.id, "a");
      await until(() => clock.pending > before, "the call to wait");
      device.cut();
      expect(await answer).toMatchObject({ status: 502, body: { code: "device_disconnected", sent: false } });
      expect((await events.next()).data["outcome"]).toBe("device_disconnected");
    });
  });

  describe("the newest connection of a device", () => {
    it("[DEV-10] wins: the old one is closed and its calls fail", async () => {
      const { site, device: old } = await joined();
      const sent = site.call(old.id, "a");
      const request = await old.nextRequest("tools/call");
      const waiting = site.call(old.id, "b");
      await queued(site, old, 1);
      const fresh = await site.connect({ transport });
      await fresh.greet();
      expect((await old.wire.ended).code).toBe(transport.sentAwayCode);
      expect((await sent).body).toMatchObject({ code: "device_disconnected", sent: true });
      expect((await waiting).body).toMatchObject({ code: "device_disconnected", sent: false });
      await fresh.setUp({ tools, userTools });
      const answer = site.call(old.id, "a");
      const next = await fresh.nextRequest("tools/call");
      expect(next.id).not.toBe(request.id);
      fresh.reply(next.id, textContent("from the new one"));
      expect((await answer).body["result"]).toEqual(textContent("from the new one"));
    });

    it("[DEV-10] is not affected by the old one's end: one offline, one online, in this order", async () => {
      const { site, device: old } = await joined();
      const events = await site.events("?type=device.online,device.offline");
      const fresh = await site.join({ transport, tools, userTools });
      await old.wire.ended;
      await fresh.quiet();
      expect((await site.device(fresh.id))["online"]).toBe(true);
      expect(await site.metric("tendon_devices_online")).toBe(1);
      fresh.cut();
      const seen = [await events.next(), await events.next(), await events.next()];
      expect(seen.map(({ type }) => type)).toEqual(["device.offline", "device.online", "device.offline"]);
      expect(seen[0]?.data["reason"]).toContain("newer connection");
      await until(async () => (await site.metric("tendon_devices_online")) === 0);
    });

    if (transport.beginsWithHello) {
      it("[DEV-10] does not win before its hello", async () => {
        const { site, device: old } = await joined();
        const silent = await site.connect({ transport });
        const answer = site.call(old.id, "a");
        old.reply((await old.nextRequest("tools/call")).id, textContent("still here"));
        expect((await answer).status).toBe(200);
        silent.cut();
        await silent.wire.ended;
        expect((await site.device(old.id))["online"]).toBe(true);
      });
    }

    if (transport.beginsWithHello) {
      it("[DEV-10] is not affected by late messages of the old one", async () => {
        const { site, device: old } = await joined();
        const events = await site.events("?type=device.notification");
        const fresh = await site.connect({ transport });
        fresh.send({ type: "hello", features: { mcp: true } });
        for (let count = 0; count < 20; count += 1) old.notify("notifications/from-the-old");
        await old.wire.ended;
        await fresh.nextFrame("hello");
        await fresh.setUp({ tools: [tool("b")] });
        fresh.notify("notifications/from-the-new");
        const isNew = ({ data }: { data: { method?: unknown } }) =>
          data.method === "notifications/from-the-new";
        await until(() => events.seen.some(isNew));
        expect(events.seen.findIndex(isNew)).toBe(events.seen.length - 1);
        await until(async () => (await site.toolNames(fresh.id)).join() === "b");
        expect((await site.device(fresh.id))["online"]).toBe(true);
      });
    }

    it("[DEV-10] fails calls that waited for the old one's first list", async () => {
      const clock = new ManualClock();
      const site = await openSite({ transport, clock });
      const old = await site.connect({ transport });
      await old.greet();
      await old.nextRequest("initialize");
      const before = await clock.settled();
      const answer = site.call(old.id, "a");
      await until(() => clock.pending > before, "the call to wait");
      const fresh = await site.connect({ transport });
      await fresh.greet();
      expect((await answer).body).toMatchObject({ code: "device_disconnected", sent: false });
    });

    it("[DEV-10] survives many takeovers in a row", async () => {
      const { site } = await joined();
      for (let count = 0; count < 10; count += 1) await (await site.connect({ transport })).greet();
      const last = await site.join({ transport, tools, userTools });
      const answer = site.call(last.id, "a");
      last.reply((await last.nextRequest("tools/call")).id, textContent("last"));
      expect((await answer).status).toBe(200);
      expect(await site.metric("tendon_devices_online")).toBe(1);
    });
  });
}

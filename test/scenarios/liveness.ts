import { describe, expect, it } from "vitest";
import { ManualClock } from "../manual-clock.ts";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import type { DeviceTransport } from "../transport.ts";

export function livenessScenarios(transport: DeviceTransport): void {
  async function joined(): Promise<{ clock: ManualClock; site: Site; device: RawDevice }> {
    const clock = new ManualClock();
    const site = await openSite({ transport, clock });
    return { clock, site, device: await site.join({ transport, tools: [tool("a")], pongs: false }) };
  }

  describe("a quiet device", () => {
    it("[DEV-13] gets an MCP ping after 60 s, and stays online if it answers with an error", async () => {
      const { clock, site, device } = await joined();
      for (let round = 0; round < 5; round += 1) {
        clock.advance(60_000);
        const { id, message } = await device.nextRequest("ping");
        expect(message["params"]).toBeUndefined();
        device.refuse(id, "Method not implemented: ping");
        expect(await device.quiet()).toEqual([]);
      }
      expect(await site.device(device.id)).toMatchObject({ online: true });
      expect(await site.metric('tendon_odd_frames_total{outcome="stray"}')).toBe(0);
    });

    it("[DEV-13] is offline after 90 s without an answer, and its calls fail", async () => {
      const { clock, site, device } = await joined();
      const events = await site.events("?type=device.offline");
      const answer = site.call(device.id, "a", {}, { timeoutMs: 300_000 });
      await device.nextRequest("tools/call");
      clock.advance(60_000);
      await device.nextRequest("ping");
      clock.advance(29_000);
      expect((await site.device(device.id))["online"]).toBe(true);
      clock.advance(5_000);
      expect((await events.next()).data["reason"]).toBe("the device stopped responding");
      expect((await answer).body).toMatchObject({ code: "device_disconnected", sent: true });
      expect((await site.device(device.id))["lastDisconnect"]).toMatchObject({
        reason: "the device stopped responding",
      });
      clock.advance(1_000);
      await device.wire.ended;
    });

    it("[DEV-12] stays online if it sends anything, valid or not", async () => {
      const { clock, site, device } = await joined();
      for (const text of ["{}", '{"type":"listen","state":"stop"}', "not JSON"]) {
        clock.advance(55_000);
        device.sendText(text);
        expect(await device.quiet()).toEqual([]);
      }
      expect((await site.device(device.id))["online"]).toBe(true);
    });

    if (transport.beginsWithHello) {
      it("[DEV-13] without tools gets no ping and stays online", async () => {
        const clock = new ManualClock();
        const site = await openSite({ transport, clock });
        const device = await site.connect({ transport, pongs: false });
        await device.greet({ type: "hello" });
        for (let minutes = 0; minutes < 10; minutes += 1) clock.advance(60_000);
        expect((await site.device(device.id))["online"]).toBe(true);
        expect(await device.quiet()).toEqual([]);
      });
    }

    it("[DEV-13] shows when it was last seen", async () => {
      const { clock, site, device } = await joined();
      const before = Date.parse(String((await site.device(device.id))["lastSeenAt"]));
      clock.advance(25_000);
      expect(Date.parse(String((await site.device(device.id))["lastSeenAt"]))).toBe(before);
      const answer = site.call(device.id, "a");
      device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
      await answer;
      expect(Date.parse(String((await site.device(device.id))["lastSeenAt"]))).toBe(before + 25_000);
    });
  });
}

import { describe, expect, it } from "vitest";
import type { Answer } from "../http-client.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import type { DeviceTransport } from "../transport.ts";

const upgrade = "self.upgrade_firmware";
const offer = { tools: [tool("a")], userTools: [tool(upgrade)] };

interface Upgrading {
  readonly site: Site;
  readonly device: RawDevice;
  readonly clock: ManualClock;
  /** The call that was sent to the device. */
  readonly id: number;
  readonly answer: Promise<Answer>;
  /** The call's result in REST, the history and the event. */
  ended(): Promise<{ text: string; isError: unknown; upgrade: unknown; outcome: unknown }>;
}

export function upgradeScenarios(transport: DeviceTransport): void {
  async function upgrading(): Promise<Upgrading> {
    const clock = new ManualClock(Date.now());
    const site = await openSite({ transport, clock });
    const device = await site.join({ transport, ...offer, firmware: "2.4.2" });
    const events = await site.events("?type=call.finished");
    const answer = site.call(device.id, upgrade);
    const { id } = await device.nextRequest("tools/call");
    const ended: Upgrading["ended"] = async () => {
      const { status, body } = await answer;
      expect(status).toBe(200);
      const { content, isError, structuredContent } = body["result"] as {
        content: { text: string }[];
        isError: boolean;
        structuredContent: { upgrade: string };
      };
      const text = content[0]?.text ?? "";
      const { data } = await events.next();
      const { outcome } = data;
      expect(data["detail"]).toBe(text);
      const story = await until(async () => {
        const found = await site.rest("GET", `/calls/${String(body["callId"])}`);
        // A shared history is written a moment later.
        if (found.status === 404) clock.advance(100);
        return found.status === 200 && found.body;
      }, "the call's history");
      expect(story).toMatchObject({ outcome, detail: text });
      return { text, isError, upgrade: structuredContent.upgrade, outcome };
    };
    return { site, device, clock, id, answer, ended };
  }

  async function gone(site: Site, device: RawDevice): Promise<void> {
    device.cut();
    await until(async () => (await site.device(device.id))["online"] === false, "the device to be away");
  }

  describe("a device that is asked to upgrade its firmware", () => {
    it("[MCP-16] and answers has failed", async () => {
      const { device, id, ended } = await upgrading();
      device.reply(id, textContent("true"));
      const { text, ...rest } = await ended();
      expect(rest).toEqual({ isError: true, upgrade: "failed", outcome: "tool_error" });
      expect(text).toMatch(/^failed: the device replied \(true\).* It still runs 2\.4\.2\./);
    });

    it("[MCP-16] and reconnects with another version is updated", async () => {
      const { site, device, ended } = await upgrading();
      await gone(site, device);
      await site.join({ transport, ...offer, firmware: "2.5.0" });
      expect(await ended()).toEqual({
        text: "updated: the device runs 2.5.0 now, before 2.4.2.",
        isError: false,
        upgrade: "updated",
        outcome: "ok",
      });
    });

    it("[MCP-16] and displaces its old connection with another version is updated", async () => {
      const { site, ended } = await upgrading();
      await site.join({ transport, ...offer, firmware: "2.5.0" });
      expect(await ended()).toMatchObject({ isError: false, upgrade: "updated", outcome: "ok" });
    });

    it("[MCP-16] and reconnects with the same version has an unknown result", async () => {
      const { site, device, clock, answer, ended } = await upgrading();
      await gone(site, device);
      await site.join({ transport, ...offer, firmware: "2.4.2" });
      let answered = false;
      void answer.then(() => {
        answered = true;
      });
      // On another node, the reconnection may be unnoticed until the deadline.
      await until(() => {
        clock.advance(1_000);
        return answered;
      }, "the answer");
      const { text, ...rest } = await ended();
      expect(rest).toEqual({ isError: true, upgrade: "unknown", outcome: "tool_error" });
      expect(text).toMatch(/^unknown: the device reconnected with the same firmware, 2\.4\.2\./);
    });

    it("[MCP-16] and is offline at the deadline has an unknown result", async () => {
      const { site, device, clock, ended } = await upgrading();
      await gone(site, device);
      clock.advance(30_000);
      const { text, ...rest } = await ended();
      expect(rest).toEqual({ isError: true, upgrade: "unknown", outcome: "tool_error" });
      expect(text).toMatch(
        /^unknown: the device disconnected and did not reconnect .*Check the device's `firmware`/,
      );
    });

    it("[MCP-16] and neither answers nor disconnects times out; a later answer is a failure", async () => {
      const { site, device, clock, id, answer } = await upgrading();
      const late = await site.events("?type=call.late");
      clock.advance(30_000);
      const { status, body } = await answer;
      expect(status).toBe(504);
      expect(body).toMatchObject({ code: "device_timeout", phase: "device", sent: true, retryable: false });
      expect(body["detail"]).toMatch(
        /Whether the upgrade succeeds is unknown.*Check the device's `firmware`/,
      );
      device.reply(id, textContent("true"));
      expect((await late.next()).data).toMatchObject({ tool: upgrade, failed: true });
    });
  });
}

import { describe, expect, it, test } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { firmwareHello, tool } from "../raw-device.ts";
import { firstDevice, openSite } from "../site.ts";
import type { DeviceTransport } from "../transport.ts";

export function helloScenarios(transport: DeviceTransport): void {
  describe("hello", () => {
    it("[DEV-4] is answered with transport, a session id that needs no escaping, and audio parameters", async () => {
      const site = await openSite({ transport });
      const device = await site.connect({ transport });
      const answer = await device.sayHello();
      expect(answer["transport"]).toBe(transport.helloTransport);
      expect(answer["session_id"]).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(answer["audio_params"]).toEqual({
        format: "opus",
        sample_rate: 24_000,
        channels: 1,
        frame_duration: 60,
      });
    });

    it("[DEV-4] is answered before the gateway sends or waits for anything else", async () => {
      const site = await openSite({ transport, clock: new ManualClock() });
      const device = await site.connect({ transport });
      device.send(firmwareHello);
      expect((await device.nextFrame("hello"))["transport"]).toBe(transport.helloTransport);
      await device.nextFrame("alert");
      expect((await device.nextRequest("initialize")).id).toBeGreaterThan(0);
    });

    it("[DEV-22] with audio is followed by an alert with all three texts", async () => {
      const site = await openSite({ transport });
      const device = await site.connect({ transport });
      device.send(firmwareHello);
      await device.nextFrame("hello");
      const alert = await device.nextFrame("alert");
      for (const key of ["status", "message", "emotion"]) expect(alert[key]).toMatch(/\w/);
    });

    it("[DEV-22] without audio gets no alert", async () => {
      const site = await openSite({ transport });
      const device = await site.connect({ transport });
      await device.greet({ type: "hello", features: { mcp: true } });
      expect((await device.nextRequest("initialize")).method).toBe("initialize");
    });

    test.each([
      ["no features", { type: "hello" }],
      ["empty features", { type: "hello", features: {} }],
      ["text", { type: "hello", features: { mcp: "true" } }],
      ["a number", { type: "hello", features: { mcp: 1 } }],
      ["false", { type: "hello", features: { mcp: false } }],
    ])("[DEV-5] without features.mcp true (%s) means online with no tools", async (_, hello) => {
      const site = await openSite({ transport });
      const device = await site.connect({ transport });
      await device.greet(hello);
      const view = await site.device(device.id);
      expect(view).toMatchObject({ online: true, mcp: false, toolCount: 0 });
      expect((await site.rest("GET", `/devices/${device.id}/tools`)).body["tools"]).toEqual([]);
      expect(await device.quiet()).toEqual([]);
    });

    it("[MCP-1] makes the gateway initialize and list again when it is repeated", async () => {
      const site = await openSite({ transport });
      const device = await site.join({ transport, tools: [tool("a")] });
      await device.greet();
      await device.setUp({ tools: [tool("a"), tool("b")] });
      await until(async () => (await site.device(device.id))["toolCount"] === 2);
      expect(await site.toolNames(device.id)).toEqual(["a", "b"]);
    });

    it("[MCP-1] repeated during listing causes one listing, not two", async () => {
      const site = await openSite({ transport });
      const device = await site.connect({ transport });
      await device.greet();
      device.reply((await device.nextRequest("initialize")).id, {});
      const first = await device.nextRequest("tools/list");
      await device.greet();
      device.reply(first.id, { tools: [tool("old")], nextCursor: "more" });
      await device.setUp({ tools: [tool("new")] });
      await site.listed(device.id);
      expect(await site.toolNames(device.id)).toEqual(["new"]);
      expect(await device.quiet()).toEqual([]);
    });

    it("[MCP-1] repeated a hundred times while the gateway waits for an answer causes one more request", async () => {
      const site = await openSite({ transport });
      const device = await site.connect({ transport });
      await device.greet();
      const { id } = await device.nextRequest("initialize");
      const hello = { type: "hello", features: { mcp: true } };
      for (let count = 0; count < 100; count += 1) await device.sayHello(hello);
      device.reply(id, {});
      await device.setUp({ tools: [tool("a")] });
      await site.listed(device.id);
      expect(await device.quiet()).toEqual([]);
    });

    it("[DEV-5] repeated with MCP adds tools to a device without tools", async () => {
      const site = await openSite({ transport });
      const device = await site.connect({ transport });
      await device.greet({ type: "hello" });
      await device.greet();
      await device.setUp({ tools: [tool("a")] });
      await site.listed(device.id);
      expect(await site.device(device.id)).toMatchObject({ mcp: true, toolCount: 1 });
    });

    it("[DEV-3] ends the connection if it is missing after 10 s", async () => {
      const clock = new ManualClock();
      const site = await openSite({ transport, clock });
      const device = await site.connect({ transport });
      device.sendText('{"type":"listen","state":"start"}');
      await device.quiet();
      clock.advance(9_999);
      expect(await device.quiet()).toEqual([]);
      clock.advance(1);
      expect((await device.wire.ended).code).toBe(1008);
      expect((await site.rest("GET", `/devices/${firstDevice}`)).status).toBe(404);
      expect(await site.metric('tendon_connections_refused_total{code="device_timeout"}')).toBe(1);
    });

    it("[DEV-6] shows a MAC address in any spelling as lower case with colons", async () => {
      const site = await openSite({ transport });
      const device = await site.connect({ transport, deviceId: "02-AB-00-00-00-0F" });
      await device.greet({ type: "hello" });
      expect((await site.device("02:ab:00:00:00:0f"))["online"]).toBe(true);
    });
  });
}

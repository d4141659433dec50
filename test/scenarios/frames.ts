import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codePoint } from "../../packages/protocol/test/code-point.ts";
import { textContent, tool } from "../raw-device.ts";
import { openSite } from "../site.ts";
import type { DeviceTransport } from "../transport.ts";

export function frameScenarios(transport: DeviceTransport): void {
  describe("a message without an id", () => {
    it("[RPC-8] becomes an event, with method and params, and is not answered", async () => {
      const site = await openSite({ transport });
      const device = await site.join({ transport, tools: [tool("a")] });
      const events = await site.events("?type=device.notification");
      device.notify("notifications/touch", { zone: "head", strength: 3 });
      device.notify("tools/call", { name: "a" });
      device.notify("bare");
      device.sendMcp({ jsonrpc: "2.0", id: null, method: "with-null-id", params: [1] });
      const seen = [await events.next(), await events.next(), await events.next(), await events.next()];
      expect(seen.map(({ data }) => data)).toEqual([
        { method: "notifications/touch", params: { zone: "head", strength: 3 } },
        { method: "tools/call", params: { name: "a" } },
        { method: "bare", params: null },
        { method: "with-null-id", params: [1] },
      ]);
      for (const { device: id } of seen) expect(id).toBe(device.id);
      expect(await device.quiet()).toEqual([]);
      expect(await site.metric("tendon_device_notifications_total")).toBe(4);
    });

    it("[RPC-8] that is too large is counted and dropped", async () => {
      const site = await openSite({ transport });
      const device = await site.join({ transport });
      const events = await site.events("?type=device.notification");
      device.notify("notifications/huge", { text: "x".repeat(17_000) });
      device.notify("notifications/small");
      expect((await events.next()).data["method"]).toBe("notifications/small");
      expect(await site.metric('tendon_odd_frames_total{outcome="invalid"}')).toBe(1);
    });

    if (transport.beginsWithHello) {
      it("[RPC-8] from a device without tools becomes an event too", async () => {
        const site = await openSite({ transport });
        const events = await site.events("?type=device.notification");
        const device = await site.connect({ transport });
        await device.greet({ type: "hello" });
        device.notify("notifications/tools/list_changed");
        expect((await events.next()).data["method"]).toBe("notifications/tools/list_changed");
        expect(await device.quiet()).toEqual([]);
      });
    }
  });

  describe("a device's request", () => {
    it.each([7, "seven", 0])("[RPC-9] is answered with its id %j", async (id) => {
      const site = await openSite({ transport });
      const device = await site.join({ transport });
      device.sendMcp({ jsonrpc: "2.0", id, method: "ping" });
      expect(await device.nextMcp()).toEqual({ jsonrpc: "2.0", id, result: {} });
      device.sendMcp({ jsonrpc: "2.0", id, method: "sampling/createMessage", params: {} });
      expect(await device.nextMcp()).toEqual({
        jsonrpc: "2.0",
        id,
        error: { code: -32_601, message: "Method not found" },
      });
    });

    it("[RPC-9] with the id of a running call is not its answer", async () => {
      const site = await openSite({ transport });
      const device = await site.join({ transport, tools: [tool("a")] });
      const answer = site.call(device.id, "a");
      const { id } = await device.nextRequest("tools/call");
      device.sendMcp({ jsonrpc: "2.0", id, method: "ping", result: textContent("forged") });
      expect(await device.nextMcp()).toEqual({ jsonrpc: "2.0", id, result: {} });
      device.reply(id, textContent("real"));
      expect((await answer).body["result"]).toEqual(textContent("real"));
    });
  });

  describe("an invalid frame", () => {
    it("[DEV-1] is counted by its problem, without other effects", async () => {
      const site = await openSite({ transport });
      const device = await site.join({ transport, tools: [tool("a")] });
      const unknown = [
        '{"type":"telemetry"}',
        '{"type":""}',
        '{"type":"iot","states":[]}',
        '{"type":"mcp2"}',
      ];
      const invalid = [
        "",
        "null",
        "[]",
        "{",
        '"hello"',
        "{}",
        '{"type":5}',
        '{"type":"mcp"}',
        '{"type":"mcp","payload":[]}',
        '{"type":"mcp","payload":{"jsonrpc":"1.0","id":1,"result":1}}',
        '{"type":"mcp","payload":{"jsonrpc":"2.0","id":1}}',
        '{"type":"hello","version":"x"}',
        `{"type":"custom","payload":${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}`,
      ];
      for (const text of [...unknown, ...invalid]) device.sendText(text);
      expect(await device.quiet()).toEqual([]);
      expect(await site.metric('tendon_odd_frames_total{outcome="unknown"}')).toBe(unknown.length);
      expect(await site.metric('tendon_odd_frames_total{outcome="invalid"}')).toBe(invalid.length);
      const answer = site.call(device.id, "a");
      device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
      expect((await answer).status).toBe(200);
    });

    it("[DEV-1] never ends a connection", async () => {
      const site = await openSite({ transport });
      const device = await site.join({ transport, tools: [tool("a")] });
      const key = fc.constantFrom("type", "payload", "jsonrpc", "id", "method", "result", "error", "params");
      const value = fc.oneof(
        fc.constantFrom("mcp", "hello", "listen", "2.0", "tools/list", 1, -1, null, true),
        fc.jsonValue({ maxDepth: 2 }),
      );
      const shaped = fc.dictionary(key, fc.oneof(value, fc.dictionary(key, value))).map((frame) => ({
        // A hello would start everything again, which other tests cover.
        ...frame,
        ...(frame["type"] === "hello" ? { version: "odd" } : {}),
      }));
      const frame = fc.oneof(
        fc.string({ unit: codePoint, maxLength: 200 }),
        fc.json({ maxDepth: 3 }),
        shaped.map((fields) => JSON.stringify(fields)),
        shaped.map((payload) => JSON.stringify({ type: "mcp", payload })),
      );
      for (const text of fc.sample(frame, { numRuns: 400, seed: 20_261_115 })) device.sendText(text);
      await device.quiet();
      const answer = site.call(device.id, "a");
      const { id } = await device.nextRequest("tools/call");
      device.reply(id, textContent("alive"));
      expect((await answer).body["result"]).toEqual(textContent("alive"));
    });
  });
}

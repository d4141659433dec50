import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { tool } from "../raw-device.ts";
import { openSite } from "../site.ts";
import type { DeviceTransport } from "../transport.ts";

export function initializeScenarios(transport: DeviceTransport): void {
  describe("initialize", () => {
    it("[MCP-1] names the protocol, the client and the configured capabilities", async () => {
      const vision = { url: "http://127.0.0.1:9/vision/explain", token: "vision-token" };
      const site = await openSite({ transport, config: { devices: { capabilities: { vision } } } });
      const device = await site.connect({ transport });
      await device.greet();
      const { message } = await device.nextRequest("initialize");
      expect(message).toEqual({
        jsonrpc: "2.0",
        id: message["id"],
        method: "initialize",
        params: {
          protocolVersion: "2024-11-05",
          capabilities: { vision },
          clientInfo: { name: "tendon", version: expect.stringMatching(/^\d+\.\d+\.\d+/) },
        },
      });
    });

    it("[MCP-2] returns board, firmware and protocol version", async () => {
      const site = await openSite({ transport });
      await site.join({ transport, board: "bread-compact-wifi", firmware: "2.4.2" });
      const { body } = await site.rest("GET", "/devices");
      expect(body["devices"]).toEqual([
        expect.objectContaining({
          board: "bread-compact-wifi",
          firmware: "2.4.2",
          protocolVersion: "2024-11-05",
          alias: "bread-compact-wifi-0001",
          transport: transport.restName,
        }),
      ]);
    });

    it("[MCP-2] does not stop listing when it is rejected", async () => {
      const site = await openSite({ transport });
      const device = await site.connect({ transport });
      await device.greet();
      device.refuse((await device.nextRequest("initialize")).id, "Method not implemented: initialize");
      await device.list([tool("a")]);
      await site.listed(device.id);
      expect(await site.device(device.id)).toMatchObject({ board: null, firmware: null, toolCount: 1 });
    });

    it.each([null, "text", 7, [], { serverInfo: "x" }, { protocolVersion: 5, serverInfo: { name: 1 } }])(
      "[MCP-2] tolerates the answer %j",
      async (result) => {
        const site = await openSite({ transport });
        const device = await site.connect({ transport });
        await device.greet();
        device.reply((await device.nextRequest("initialize")).id, result);
        await device.list([tool("a")]);
        await site.listed(device.id);
        expect(await site.device(device.id)).toMatchObject({ board: null, protocolVersion: null });
      },
    );

    it("[MCP-7] is retried after 5, 30 and 120 s without an answer, and then no more", async () => {
      const clock = new ManualClock();
      const site = await openSite({ transport, clock });
      const device = await site.connect({ transport });
      await device.greet();
      // In steps with activity after each, because a silent device would be taken offline.
      const pass = async (ms: number) => {
        const said: unknown[] = [];
        for (let left = ms; left > 0; left -= 20_000) {
          clock.advance(Math.min(left, 20_000));
          said.push(...(await device.quiet()));
        }
        return said;
      };
      const ids: number[] = [];
      for (const pause of [5_000, 30_000, 120_000]) {
        ids.push((await device.nextRequest("initialize")).id);
        expect(await pass(20_000)).toEqual([]);
        expect(await pass(pause - 1)).toEqual([]);
        clock.advance(1);
      }
      ids.push((await device.nextRequest("initialize")).id);
      expect(await pass(200_000)).toEqual([]);
      expect(ids).toEqual([0, 1, 2, 3].map((step) => (ids[0] ?? 0) + step));
      const view = await until(async () => {
        const seen = await site.device(device.id);
        return seen["toolsProblem"] === null ? undefined : seen;
      });
      expect(view).toMatchObject({ online: true, toolsProblem: "the device does not answer MCP" });
    });

    it("[MCP-7] lists the tools when the second attempt is answered", async () => {
      const clock = new ManualClock();
      const site = await openSite({ transport, clock });
      const device = await site.connect({ transport });
      await device.greet();
      await device.nextRequest("initialize");
      clock.advance(20_000);
      await until(async () => (await site.device(device.id))["toolsProblem"] !== null);
      clock.advance(5_000);
      await device.setUp({ tools: [tool("a")] });
      await site.listed(device.id);
      expect(await site.device(device.id)).toMatchObject({ toolsProblem: null, toolCount: 1 });
    });

    it("[RPC-2] and later requests have consecutive ids from a random start", async () => {
      const site = await openSite({ transport });
      const starts = new Set<number>();
      for (const end of ["a1", "a2", "a3", "a4"]) {
        const device = await site.connect({ transport, deviceId: `02:00:00:00:00:${end}` });
        await device.greet();
        const first = (await device.nextRequest("initialize")).id;
        device.reply(first, {});
        const second = (await device.nextRequest("tools/list")).id;
        expect(Number.isInteger(first) && first >= 1 && first <= 2_147_483_647).toBe(true);
        expect(second).toBe(first + 1);
        starts.add(first);
      }
      expect(starts.size).toBe(4);
    });
  });
}

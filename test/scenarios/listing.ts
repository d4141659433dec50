import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type RawDevice, type ToolEntry, tool } from "../raw-device.ts";
import { openSite, type Site, type SiteOptions } from "../site.ts";
import type { DeviceTransport } from "../transport.ts";

export function listingScenarios(transport: DeviceTransport): void {
  async function initialised(options: SiteOptions = {}): Promise<{ site: Site; device: RawDevice }> {
    const site = await openSite({ transport, ...options });
    const device = await site.connect({ transport });
    await device.greet();
    device.reply((await device.nextRequest("initialize")).id, { serverInfo: { name: "b", version: "1" } });
    return { site, device };
  }

  async function page(device: RawDevice, params: object, tools: readonly ToolEntry[], nextCursor?: string) {
    const request = await device.nextRequest("tools/list");
    expect(request.params).toEqual(params);
    device.reply(request.id, { tools, ...(nextCursor === undefined ? {} : { nextCursor }) });
  }

  async function problemOf(site: Site, device: RawDevice): Promise<string> {
    const { body } = await until(async () => {
      const answer = await site.rest("GET", `/devices/${device.id}/tools?user=true`);
      return answer.body["problem"] === undefined ? undefined : answer;
    });
    expect(body["complete"]).toBe(false);
    return String(body["problem"]);
  }

  describe("listing", () => {
    it("[MCP-3] reads all pages with the flag on each, and again without it", async () => {
      const { site, device } = await initialised();
      await page(device, { withUserTools: true }, [tool("a")], "b");
      await page(device, { withUserTools: true, cursor: "b" }, [tool("b"), tool("c")], "u");
      await page(device, { withUserTools: true, cursor: "u" }, [tool("u")]);
      await page(device, {}, [tool("a")], "b");
      await page(device, { cursor: "b" }, [tool("b")], "c");
      await page(device, { cursor: "c" }, [tool("c")]);
      await site.listed(device.id);
      const { body } = await site.rest("GET", `/devices/${device.id}/tools`);
      expect((body["tools"] as ToolEntry[]).map(({ name }) => name)).toEqual(["a", "b", "c"]);
      expect(await site.toolNames(device.id)).toEqual(["a", "b", "c", "u"]);
    });

    it("[MCP-3] reads the pages once if the firmware marks its user-only tools", async () => {
      const { site, device } = await initialised();
      const name = "self.get_system_info";
      const marked = { ...tool(name), annotations: { audience: ["user"] } };
      await page(device, { withUserTools: true }, [tool("a")], name);
      await page(device, { withUserTools: true, cursor: name }, [marked]);
      await site.listed(device.id);
      expect(await device.quiet()).toEqual([]);
      const { body } = await site.rest("GET", `/devices/${device.id}/tools`);
      expect((body["tools"] as ToolEntry[]).map((listed) => listed.name)).toEqual(["a"]);
      expect(await site.toolNames(device.id)).toEqual(["a", name]);
    });

    it("[DEV-14] is the last unsolicited request", async () => {
      const site = await openSite({ transport });
      const device = await site.join({ transport, tools: [tool("a")] });
      expect(await device.quiet()).toEqual([]);
      device.send({ type: "listen", session_id: device.sessionId, state: "start", mode: "auto" });
      device.send({ type: "abort", session_id: device.sessionId, reason: "wake_word_detected" });
      device.send({ type: "goodbye", session_id: device.sessionId });
      expect(await device.quiet()).toEqual([]);
    });

    it("[MCP-6] marks a tool as user-only by the list or by its audience", async () => {
      const site = await openSite({ transport });
      const device = await site.join({
        transport,
        tools: [
          { ...tool("annotated"), annotations: { audience: ["user"] } },
          { ...tool("both"), annotations: { audience: ["user", "assistant"] } },
        ],
        userTools: [tool("hidden")],
      });
      const { body } = await site.rest("GET", `/devices/${device.id}/tools?user=true`);
      const audiences = (body["tools"] as ToolEntry[]).map(({ name, audience }) => [name, audience]);
      expect(audiences).toEqual([
        ["annotated", "user"],
        ["both", "agent"],
        ["hidden", "user"],
      ]);
    });

    it("[MCP-4] stops at a repeated cursor, and keeps the tools so far", async () => {
      const { site, device } = await initialised();
      await page(device, { withUserTools: true }, [tool("a")], "b");
      await page(device, { withUserTools: true, cursor: "b" }, [tool("b"), tool("u")], "b");
      await page(device, { withUserTools: true, cursor: "self.get_system_info" }, []);
      await page(device, {}, [tool("a")], "b");
      await page(device, { cursor: "b" }, [tool("b")], "b");
      expect(await problemOf(site, device)).toContain('the cursor "b" was repeated');
      expect(await site.toolNames(device.id)).toEqual(["a", "b", "u"]);
    });

    it("[MCP-4] stops at an error in the middle and reports the device's message", async () => {
      const { site, device } = await initialised();
      await page(device, { withUserTools: true }, [tool("a"), tool("u")]);
      await page(device, {}, [tool("a")], "gone");
      const words = "Failed to add tool  because of payload size limit";
      device.refuse((await device.nextRequest("tools/list")).id, words);
      // The first user-only tool of stock firmware was reached, so no other cursor is tried.
      expect(await problemOf(site, device)).toBe(`page 2: ${words}`);
      expect(await site.toolNames(device.id)).toEqual(["a", "u"]);
    });

    it("[MCP-4] gets past an oversize tool to the firmware's user-only tools", async () => {
      const { site, device } = await initialised();
      const words = "Failed to add tool self.huge because of payload size limit";
      await page(device, { withUserTools: true }, [tool("a")], "self.huge");
      device.refuse((await device.nextRequest("tools/list")).id, words);
      await page(device, { withUserTools: true, cursor: "self.get_system_info" }, [
        tool("self.get_system_info"),
        tool("self.reboot"),
      ]);
      await page(device, {}, [tool("a")], "self.huge");
      device.refuse((await device.nextRequest("tools/list")).id, words);
      expect(await problemOf(site, device)).toContain("self.huge");
      expect(await site.toolNames(device.id)).toEqual(["a", "self.get_system_info", "self.reboot"]);
    });

    it.each([null, {}, { tools: {} }, { tools: "a" }, [], "tools", 3])(
      "[MCP-4] treats %j as a malformed page and keeps the earlier ones",
      async (result) => {
        const { site, device } = await initialised();
        await page(device, { withUserTools: true }, [tool("a")]);
        await page(device, {}, [tool("a")], "b");
        device.reply((await device.nextRequest("tools/list")).id, result);
        expect(await problemOf(site, device)).toBe("page 2: the reply has no list of tools");
        expect(await site.toolNames(device.id)).toEqual(["a"]);
      },
    );

    it("[MCP-4] reads 200 pages, and no more than 256", async () => {
      const { site, device } = await initialised();
      const pages = async (params: object, count: number, last: boolean) => {
        for (let at = 1; at <= count; at += 1) {
          const cursor = at === 1 ? {} : { cursor: `t${at}` };
          const next = at === count && last ? undefined : `t${at + 1}`;
          await page(device, { ...params, ...cursor }, [tool(`t${at}`)], next);
        }
      };
      await pages({ withUserTools: true }, 256, false);
      await page(device, { withUserTools: true, cursor: "self.get_system_info" }, []);
      await pages({}, 200, true);
      expect(await problemOf(site, device)).toBe("more than 256 pages");
      expect((await site.toolNames(device.id)).length).toBe(256);
    });

    it("[MCP-4] accepts at most 1,000 tools", async () => {
      const { site, device } = await initialised();
      const many = Array.from({ length: 1_001 }, (_, at) => ({ name: `t${at}`, inputSchema: {} }));
      await page(device, { withUserTools: true }, many.slice(0, 10));
      await page(device, {}, many.slice(0, 600), "t600");
      await page(device, { cursor: "t600" }, many.slice(600));
      expect(await problemOf(site, device)).toBe("more than 1000 tools");
      expect((await site.toolNames(device.id)).length).toBeLessThanOrEqual(1_001);
    });

    it("[MCP-7] keeps the list and retries after 5 s without an answer", async () => {
      const clock = new ManualClock();
      const { site, device } = await initialised({ clock });
      await page(device, { withUserTools: true }, [tool("a")], "b");
      await device.nextRequest("tools/list");
      clock.advance(20_000);
      await page(device, {}, [tool("a")]);
      expect(await problemOf(site, device)).toContain("no answer within 20000 ms");
      expect(await site.toolNames(device.id)).toEqual(["a"]);
      clock.advance(5_000);
      await device.setUp({ tools: [tool("a"), tool("b")] });
      await site.listed(device.id);
      expect(await site.toolNames(device.id)).toEqual(["a", "b"]);
    });

    it("[MCP-8] offers a duplicate name once and reports it", async () => {
      const site = await openSite({ transport });
      const device = await site.join({ transport, tools: [tool("a"), tool("a"), tool("b")] });
      const { body } = await site.rest("GET", `/devices/${device.id}/tools`);
      expect((body["tools"] as ToolEntry[]).map(({ name }) => name)).toEqual(["a", "b"]);
      expect(body["setAside"]).toEqual([{ name: "a", reason: "the device lists it twice" }]);
    });

    it("[MCP-8] repairs tools and sets irreparable ones aside", async () => {
      const site = await openSite({ transport });
      const odd = [
        { name: "no-schema" },
        { name: "untyped", inputSchema: { properties: { x: { type: "integer" } } } },
        { name: "text-schema", inputSchema: "object" },
        { name: "array-schema", inputSchema: { type: "array" } },
        {
          name: "elsewhere",
          inputSchema: { type: "object", properties: { x: { $ref: "http://a.test/b" } } },
        },
        { name: 'quo"te', inputSchema: { type: "object" } },
        { name: "", inputSchema: { type: "object" } },
        { name: "x".repeat(129), inputSchema: { type: "object" } },
        { name: "good", inputSchema: { type: "object", properties: {} } },
      ];
      const device = await site.join({ transport, tools: odd });
      const { body } = await site.rest("GET", `/devices/${device.id}/tools`);
      const offered = body["tools"] as { name: string; repairs?: string[] }[];
      expect(offered.map(({ name, repairs = [] }) => [name, repairs.length > 0])).toEqual([
        ["no-schema", true],
        ["untyped", true],
        ["elsewhere", true],
        ["good", false],
      ]);
      const aside = (body["setAside"] as { name: string }[]).map(({ name }) => name);
      expect(aside).toEqual(
        expect.arrayContaining(["text-schema", "array-schema", 'quo"te', "(no name)", "x".repeat(128)]),
      );
      expect(JSON.stringify(offered)).not.toContain("a.test");
    });

    it.each([[null], ["text"], [7], [[]], [{}], [{ name: 5 }]])(
      "[MCP-8] skips an entry that is not a tool: %j",
      async (entry) => {
        const site = await openSite({ transport });
        const device = await site.join({ transport, tools: [entry as ToolEntry, tool("a")] });
        expect(await site.toolNames(device.id)).toEqual(["a"]);
      },
    );

    it("[RPC-8] is repeated when the device reports changed tools, with one event", async () => {
      const site = await openSite({ transport });
      const device = await site.join({ transport, tools: [tool("a")] });
      const events = await site.events("?type=device.tools_changed");
      device.notify("notifications/tools/list_changed");
      await device.list([tool("a"), tool("b")]);
      const first = await events.next();
      // On another node, the event of the first list may still be in transit.
      const isOfFirstList = transport.openSite !== undefined && first.data["toolCount"] === 1;
      expect(isOfFirstList ? await events.next() : first).toMatchObject({
        device: device.id,
        data: { toolCount: 2, complete: true },
      });
      device.notify("notifications/tools/list_changed");
      await device.list([tool("a"), tool("b")]);
      device.notify("notifications/tools/list_changed");
      await device.list([tool("b")]);
      expect((await events.next()).data).toMatchObject({ toolCount: 1 });
    });

    it("[RPC-8] is repeated a second later when the tools change during it", async () => {
      const clock = new ManualClock();
      const { site, device } = await initialised({ clock });
      const request = await device.nextRequest("tools/list");
      for (let count = 0; count < 5; count += 1) device.notify("notifications/tools/list_changed");
      device.reply(request.id, { tools: [tool("a")] });
      await page(device, {}, [tool("a")]);
      await site.listed(device.id);
      expect(await device.quiet()).toEqual([]);
      clock.advance(1_000);
      await device.list([tool("a"), tool("b")]);
      await until(async () => (await site.device(device.id))["toolCount"] === 2);
      clock.advance(1_000);
      expect(await device.quiet()).toEqual([]);
    });

    it("[RPC-8] is repeated at most once per second for a device that keeps reporting changes", async () => {
      const clock = new ManualClock();
      const { site, device } = await initialised({ clock });
      await device.list([tool("a")]);
      await site.listed(device.id);
      device.notify("notifications/tools/list_changed");
      await device.list([tool("a"), tool("b")]);
      for (let count = 0; count < 5; count += 1) device.notify("notifications/tools/list_changed");
      expect(await device.quiet()).toEqual([]);
      clock.advance(999);
      expect(await device.quiet()).toEqual([]);
      clock.advance(1);
      await device.list([tool("a"), tool("b"), tool("c")]);
      await until(async () => (await site.device(device.id))["toolCount"] === 3);
      clock.advance(10_000);
      expect(await device.quiet()).toEqual([]);
    });

    it("[MCP-5] is kept while the device is offline, and valid at once when it reconnects", async () => {
      const site = await openSite({ transport });
      const first = await site.join({ transport, tools: [tool("a")] });
      first.cut();
      await until(async () => (await site.device(first.id))["online"] === false);
      expect(await site.toolNames(first.id)).toEqual(["a"]);
      const events = await site.events("?type=device.tools_changed");
      const again = await site.connect({ transport });
      await again.greet();
      expect(await site.toolNames(first.id)).toEqual(["a"]);
      await again.setUp({ tools: [tool("a")] });
      await again.quiet();
      again.notify("notifications/tools/list_changed");
      await again.list([]);
      // The first event is from the third listing, because the second changed nothing.
      expect((await events.next()).data).toMatchObject({ toolCount: 0 });
    });

    it("[MCP-5] that is incomplete updates the listed tools and keeps the others", async () => {
      const site = await openSite({ transport });
      const device = await site.join({ transport, tools: [tool("a"), tool("b")] });
      device.notify("notifications/tools/list_changed");
      const changed = { ...tool("a"), description: "Does it better" };
      await page(device, { withUserTools: true }, [changed]);
      await page(device, {}, [changed], "b");
      device.refuse((await device.nextRequest("tools/list")).id, "out of memory");
      expect(await problemOf(site, device)).toContain("out of memory");
      const { body } = await site.rest("GET", `/devices/${device.id}/tools`);
      expect(body["tools"]).toEqual([
        expect.objectContaining({ name: "a", description: "Does it better" }),
        expect.objectContaining({ name: "b" }),
      ]);
    });

    it("[AGT-1] gives tools names that agents accept", async () => {
      const site = await openSite({ transport });
      const device = await site.join({
        transport,
        board: "desk",
        tools: [tool("self.audio_speaker.set_volume"), tool(`self.${"long".repeat(20)}`)],
      });
      const { body } = await site.rest("GET", `/devices/${device.id}/tools`);
      const names = (body["tools"] as { agentName: string }[]).map(({ agentName }) => agentName);
      expect(names[0]).toBe("desk-0001__audio_speaker_set_volume");
      for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,48}$/);
    });
  });
}

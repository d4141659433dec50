import { describe, expect, it } from "vitest";
import { makeToken } from "../access/tokens.ts";
import { textContent, tool } from "../raw-device.ts";
import { openSite } from "../site.ts";
import { eras, openAgent, textOf } from "./agent.ts";

const first = "02:00:00:00:00:01";
const second = "02:00:00:00:00:02";
const volume = tool("self.audio_speaker.set_volume", { volume: { type: "integer" } }, ["volume"]);
const compactNames = [
  "devices_list",
  "tools_search",
  "tool_describe",
  "device_call",
  "device_state",
  "fleet_call",
  "events_wait",
];

function data(result: { structuredContent?: unknown }): { [key: string]: unknown } {
  return result.structuredContent as { [key: string]: unknown };
}

describe.each(eras)("the compact tools in the %s era", (era) => {
  it("[SRV-6] are always listed on /mcp, and required or omitted by the address", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [volume] });
    const { alias } = await site.device(device.id);
    const names = async (at: string) => {
      const { tools } = await (await openAgent(site, era, { at })).listTools();
      return tools.map(({ name }) => name);
    };
    const own = `${String(alias)}__audio_speaker_set_volume`;
    expect(await names("/mcp")).toEqual([...compactNames, own]);
    expect(await names("/mcp/flat")).toEqual([...compactNames, own]);
    expect(await names("/mcp/compact")).toEqual(compactNames);
    expect(await names(`/mcp/devices/${String(alias)}`)).toEqual(["audio_speaker_set_volume"]);
    expect(await names(`/mcp/devices/${encodeURIComponent(device.id)}`)).toEqual([
      "audio_speaker_set_volume",
    ]);
  });

  it("count the tools that the caller may use", async () => {
    const rules = [{ tool: "denied", effect: "deny" as const }];
    const site = await openSite({ config: { access: { rules } } });
    const device = await site.join({
      tools: [volume, tool("free"), tool("denied")],
      userTools: [tool("self.reboot"), tool("self.get_system_info")],
    });
    for (const [scopes, count] of [
      [["read", "call"], 2],
      [["read", "call", "call:user"], 4],
      [["read"], 0],
    ] as const) {
      const { token } = await makeToken(site, { scopes: [...scopes] });
      const agent = await openAgent(site, era, { token });
      const listed = await agent.callTool({ name: "devices_list", arguments: {} });
      expect(data(listed), scopes.join()).toMatchObject({ devices: [{ tools: count }] });
      const state = await agent.callTool({ name: "device_state", arguments: { device: device.id } });
      expect(data(state), scopes.join()).toMatchObject({ toolCount: count });
    }
  });

  it("list devices, find a tool, describe it and call it", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [volume] });
    const agent = await openAgent(site, era);
    const { alias } = await site.device(device.id);
    const listed = await agent.callTool({ name: "devices_list", arguments: { online: true } });
    expect(data(listed)).toEqual({
      devices: [{ device: alias, id: device.id, online: true, board: "raw-board", tools: 1 }],
    });
    expect(JSON.parse(textOf(listed))).toEqual(data(listed));
    const found = await agent.callTool({ name: "tools_search", arguments: { query: "volume" } });
    const [hit] = data(found)["tools"] as { device: string; tool: string }[];
    expect(hit).toMatchObject({ device: alias, tool: "audio_speaker_set_volume", arguments: ["volume"] });
    const at = { device: hit?.device, tool: hit?.tool };
    const described = await agent.callTool({ name: "tool_describe", arguments: at });
    expect(data(described)).toMatchObject({ inputSchema: { required: ["volume"] } });
    for (const name of ["audio_speaker_set_volume", "self.audio_speaker.set_volume"]) {
      const call = agent.callTool({
        name: "device_call",
        arguments: { device: alias, tool: name, arguments: { volume: 7 } },
      });
      const request = await device.nextRequest("tools/call");
      expect(request.params).toEqual({ name: "self.audio_speaker.set_volume", arguments: { volume: 7 } });
      device.reply(request.id, textContent("true"));
      expect(textOf(await call)).toBe("true");
    }
  });

  it("[SRV-15] accept a tool's arguments as an object or as JSON text", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [volume] });
    const agent = await openAgent(site, era);
    const { tools } = await agent.listTools();
    for (const name of ["device_call", "fleet_call"]) {
      const { properties } = tools.find((one) => one.name === name)?.inputSchema ?? {};
      expect(properties?.["arguments"], name).toMatchObject({ type: "object", additionalProperties: true });
      const target = name === "fleet_call" ? { all: true } : { device: first };
      const args = { ...target, tool: "audio_speaker_set_volume", arguments: '{"volume": 7}' };
      const call = agent.callTool({ name, arguments: args });
      const request = await device.nextRequest("tools/call");
      expect(request.params["arguments"]).toEqual({ volume: 7 });
      device.reply(request.id, textContent("true"));
      expect((await call).isError).toBeFalsy();
      for (const wrong of ["loud", "[7]", "7"]) {
        const refused = await agent.callTool({ name, arguments: { ...args, arguments: wrong } });
        expect(textOf(refused)).toMatch(/^arguments_invalid: \/arguments /);
      }
    }
  });

  it("[SRV-5] fail like calls, with a result that starts with the code", async () => {
    const site = await openSite();
    await site.join({ tools: [volume], userTools: [tool("self.reboot")] });
    const agent = await openAgent(site, era);
    const said = async (name: string, args: object) => {
      const result = await agent.callTool({ name, arguments: args as Record<string, unknown> });
      expect(result.isError).toBe(true);
      return textOf(result);
    };
    expect(await said("device_state", { device: "unknown" })).toMatch(/^device_unknown: /);
    expect(await said("device_state", {})).toMatch(/^arguments_invalid: /);
    expect(await said("devices_list", { colour: "red" })).toMatch(/^arguments_invalid: /);
    expect(await said("device_call", { device: first, tool: "missing" })).toMatch(/^tool_unknown: /);
    expect(await said("device_call", { tool: "missing" })).toMatch(/^arguments_invalid: /);
    expect(await said("device_call", { device: first, tool: "self.reboot" })).toMatch(/^forbidden: /);
    expect(await said("tool_describe", { device: first, tool: "self.reboot" })).toMatch(/^tool_unknown: /);
    expect(await said("fleet_call", { tool: "a" })).toMatch(/^arguments_invalid: exactly one/);
  });

  it("call many devices with a result for each", async () => {
    const site = await openSite();
    const one = await site.join({ tools: [volume] });
    const other = await site.join({ deviceId: second, tools: [volume] });
    const agent = await openAgent(site, era);
    const call = agent.callTool({
      name: "fleet_call",
      arguments: { all: true, tool: "audio_speaker_set_volume", arguments: { volume: 1 } },
    });
    one.reply((await one.nextRequest("tools/call")).id, textContent("true"));
    other.refuse((await other.nextRequest("tools/call")).id, "no speaker");
    const result = data(await call);
    expect(result).toMatchObject({ ok: 1, failed: 1 });
    expect(result["results"]).toMatchObject([
      { device: first, ok: true },
      { device: second, error: { code: "device_error", detail: "no speaker" } },
    ]);
  });

  it("[SRV-8] wait for events, and continue after the last one", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [volume] });
    const agent = await openAgent(site, era);
    const wait = async (args: Record<string, unknown>) =>
      data(await agent.callTool({ name: "events_wait", arguments: args })) as {
        events: { type: string; data: { method?: string } }[];
        next: string;
        reset?: boolean;
      };
    const none = await wait({ timeoutMs: 0 });
    expect(none.events).toEqual([]);
    device.notify("first");
    device.notify("second");
    await device.quiet();
    const both = await wait({ since: none.next });
    expect(both.events.map((event) => event.data.method)).toEqual(["first", "second"]);
    const waiting = wait({ since: both.next, types: ["device.offline"] });
    device.notify("not wanted");
    device.close();
    expect((await waiting).events).toMatchObject([{ type: "device.offline" }]);
    expect(await wait({ since: "00000000-7" })).toMatchObject({ events: [], reset: true });
  });
});

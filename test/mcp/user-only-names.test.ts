/** User-only tools are not listed for agents. An agent that knows their names cannot call them either. */
import { describe, expect, it } from "vitest";
import { makeToken } from "../access/tokens.ts";
import { tool } from "../raw-device.ts";
import { firstDevice, openSite } from "../site.ts";
import { eras, openAgent, textOf } from "./agent.ts";

const alias = "raw-board-0001";

describe.each(eras)("a user-only tool by its name (%s)", (era) => {
  it.each([
    ["/mcp", [`${alias}__reboot`, `${alias}__self_reboot`, "self.reboot"]],
    ["/mcp/flat", [`${alias}__reboot`, `${alias}__self_reboot`, "self.reboot"]],
    [`/mcp/devices/${alias}`, ["reboot", "self_reboot", "self.reboot", `${alias}__reboot`]],
  ])("is never sent to the device at %s", async (at, names) => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("self.lamp.on")], userTools: [tool("self.reboot")] });
    const { token } = await makeToken(site, { scopes: ["read", "call", "admin"] });
    const agent = await openAgent(site, era, { at, token });
    for (const name of names) {
      const answer = await agent.callTool({ name, arguments: {} }).then(textOf, String);
      expect(answer, name).toMatch(/forbidden|tool_unknown|unknown tool|not found/i);
    }
    for (const [name, target] of [
      ["device_call", { device: firstDevice }],
      ["fleet_call", { all: true }],
    ] as const) {
      const call = agent.callTool({ name, arguments: { ...target, tool: "self.reboot" } });
      expect(await call.then(textOf, String), name).toMatch(/forbidden|unknown/i);
    }
    expect(await device.quiet()).toEqual([]);
  });
});

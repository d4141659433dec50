/** The guide's section "Another Tendon": the fleet of one gateway is a device of another. */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { openSite } from "../site.ts";
import { online, textOf } from "./servers.ts";

describe("another Tendon", () => {
  it("[HTD-1] [HTD-6] is a device with the tools of its fleet", async () => {
    const workshop = await openSite();
    const { body: made } = await workshop.rest("POST", "/tokens", { name: "up", scopes: ["read", "call"] });
    const board = await workshop.join({ tools: [{ name: "self.drill.start" }] });
    const site = await openSite();
    await site.rest("POST", "/devices/http", {
      alias: "workshop",
      url: `${workshop.url}/mcp/flat`,
      headers: { Authorization: `Bearer ${String(made["token"])}` },
    });
    await online(site, "workshop");
    expect((await site.device("workshop"))["protocolVersion"]).toBe("2026-07-28");
    const name = (await site.toolNames("workshop")).find((tool) => tool.endsWith("drill_start")) ?? "";
    const calling = site.call("workshop", name);
    const request = await board.nextRequest("tools/call");
    board.reply(request.id, { content: [{ type: "text", text: "drilling" }], isError: false });
    expect(textOf((await calling).body)).toBe("drilling");
    board.cut();
    await until(async () => {
      const { body } = await site.call("workshop", name);
      return JSON.stringify(body["result"] ?? {}).includes("device_offline");
    }, "the error of the other gateway");
  });
});

/** Large tool lists cost a bounded amount of memory. */
import { describe, expect, it } from "vitest";
import { until } from "./inbox.ts";
import type { RawDevice } from "./raw-device.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

function fat(name: string, bytes: number) {
  const text = "x".repeat(Math.floor(bytes / 4));
  const properties = Object.fromEntries(["a", "b", "c", "d"].map((key) => [key, { description: text }]));
  return { name, inputSchema: { type: "object", properties } };
}

async function connect(site: Site): Promise<RawDevice> {
  const device = await site.connect();
  await device.greet();
  const { id } = await device.nextRequest("initialize");
  device.reply(id, {});
  return device;
}

describe("a tool list", () => {
  it("[MCP-4] of more than 2 MB is truncated, and the device stays usable", async () => {
    const site = await openSite();
    const device = await connect(site);
    const tools = Array.from({ length: 200 }, (_, at) => fat(`tool_${at}`, 14_000));
    // Both passes end at the same tool: it is not asked for the rest.
    const pages = 15;
    for (let pass = 0; pass < 2; pass += 1)
      for (let page = 0; page < pages; page += 1) {
        const { id } = await device.nextRequest("tools/list");
        device.reply(id, { tools: tools.slice(page * 10, page * 10 + 10), nextCursor: `${page}` });
      }
    const resumed = await device.nextRequest("tools/list");
    device.reply(resumed.id, { tools: [] });
    const view = await until(async () => {
      const seen = await site.device(firstDevice);
      return seen["toolsTruncated"] === true ? seen : undefined;
    }, "the truncated list");
    expect(view).toMatchObject({ online: true, toolsComplete: false });
    expect(Number(view["toolCount"])).toBeGreaterThan(140);
    expect(Number(view["toolCount"])).toBeLessThan(150);
    const answer = site.call(firstDevice, "tool_0");
    const { id } = await device.nextRequest("tools/call");
    device.reply(id, { content: [] });
    expect((await answer).status).toBe(200);
  });
});

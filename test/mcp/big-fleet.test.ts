import { describe, expect, it } from "vitest";
import { tool } from "../raw-device.ts";
import { openSite } from "../site.ts";
import { eras, openAgent } from "./agent.ts";
import { modern, say } from "./rpc.ts";

const kinds = [
  "set_volume",
  "get_volume",
  "set_brightness",
  "take_photo",
  "play_tone",
  "stop",
  "status",
  "reset",
  "on",
  "off",
];

describe("two hundred devices with ten tools each", () => {
  it("make a first list of less than 16 KB, and every tool is found and called all the same", async () => {
    const site = await openSite();
    const tools = kinds.map((kind) =>
      tool(`self.${kind}`, { level: { type: "integer", minimum: 0, maximum: 100, description: "How much" } }),
    );
    const ids = Array.from({ length: 200 }, (_, index) => {
      const tail = index.toString(16).padStart(4, "0");
      return `02:00:00:00:${tail.slice(0, 2)}:${tail.slice(2)}`;
    });
    for (let from = 0; from < ids.length; from += 20) {
      await Promise.all(ids.slice(from, from + 20).map((deviceId) => site.join({ deviceId, tools })));
    }
    const { text, body } = await say(site, modern("tools/list"));
    expect(Buffer.byteLength(text)).toBeLessThan(16 * 1024);
    const { tools: listed } = body["result"] as unknown as { tools: { name: string }[] };
    expect(listed).toHaveLength(7);

    for (const era of eras) {
      const compact = await openAgent(site, era);
      const found = await compact.callTool({
        name: "tools_search",
        arguments: { query: "volume", device: ids[123] },
      });
      const [best] = (found.structuredContent as { tools: { tool: string }[] }).tools;
      expect(best?.tool).toMatch(/volume$/);
      const flat = await openAgent(site, era, { at: "/mcp/flat" });
      const all = await flat.listTools();
      expect(all.tools).toHaveLength(2_007);
      expect(new Set(all.tools.map(({ name }) => name)).size).toBe(2_007);
    }
  }, 60_000);
});

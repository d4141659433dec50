import { describe, expect, it, onTestFinished } from "vitest";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
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

async function answerOne(device: RawDevice): Promise<void> {
  device.reply((await device.nextRequest("tools/call")).id, textContent("true"));
}

describe("two hundred devices with ten tools each", () => {
  it("have a first list of less than 16 KB, and every tool can still be found and called", async () => {
    const site = await openSite();
    const tools = kinds.map((kind) =>
      tool(`self.${kind}`, { level: { type: "integer", minimum: 0, maximum: 100, description: "How much" } }),
    );
    const warnings: string[] = [];
    const warned = ({ name }: Error) => void warnings.push(name);
    process.on("warning", warned);
    onTestFinished(() => void process.off("warning", warned));
    const joined: RawDevice[] = [];
    const ids = Array.from({ length: 200 }, (_, index) => {
      const tail = index.toString(16).padStart(4, "0");
      return `02:00:00:00:${tail.slice(0, 2)}:${tail.slice(2)}`;
    });
    for (let from = 0; from < ids.length; from += 20) {
      const some = ids.slice(from, from + 20).map((deviceId) => site.join({ deviceId, tools }));
      joined.push(...(await Promise.all(some)));
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
      const everywhere = { all: true, tool: "set_volume", arguments: { level: 1 } };
      const called = compact.callTool({ name: "fleet_call", arguments: everywhere });
      await Promise.all(joined.map(answerOne));
      expect((await called).structuredContent).toMatchObject({ ok: 200, failed: 0 });
    }
    const called = site.rest("POST", "/calls", { target: { all: true }, tool: "self.set_volume" });
    await Promise.all(joined.map(answerOne));
    expect((await called).body).toMatchObject({ ok: 200, failed: 0 });
    // The caller's signal has one listener, however many devices a call waits for.
    expect(warnings).toEqual([]);
  }, 60_000);
});

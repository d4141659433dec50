import { describe, expect, it } from "vitest";
import { textContent, tool } from "../raw-device.ts";
import { openSite } from "../site.ts";
import { eras, openAgent, textOf } from "./agent.ts";

const volume = tool("self.audio_speaker.set_volume", { volume: { type: "integer" } }, ["volume"]);

describe.each(eras)("an agent of the %s era", (era) => {
  it("[SRV-1] lists the tools of a device and calls one", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [volume] });
    const { alias } = await site.device(device.id);
    const agent = await openAgent(site, era);
    expect(agent.getNegotiatedProtocolVersion()).toBe(era === "modern" ? "2026-07-28" : "2025-11-25");
    const { tools } = await agent.listTools();
    const name = `${String(alias)}__audio_speaker_set_volume`;
    expect(tools.map((listed) => listed.name)).toContain(name);
    const answer = agent.callTool({ name, arguments: { volume: 30 } });
    const call = await device.nextRequest("tools/call");
    expect(call.params).toEqual({ name: "self.audio_speaker.set_volume", arguments: { volume: 30 } });
    device.reply(call.id, textContent("true"));
    const result = await answer;
    expect(textOf(result)).toBe("true");
    expect(result._meta).toMatchObject({ "tendon/call": { device: device.id } });
  });

  it("[SRV-5] gets a failed call as a result that starts with its code, and an unknown name as an error", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [volume] });
    const { alias } = await site.device(device.id);
    const name = `${String(alias)}__audio_speaker_set_volume`;
    const agent = await openAgent(site, era);
    const wrong = await agent.callTool({ name, arguments: { volume: "loud" } });
    expect(wrong.isError).toBe(true);
    expect(textOf(wrong)).toMatch(/^arguments_invalid: \/volume /);
    await expect(agent.callTool({ name: "unknown__nothing", arguments: {} })).rejects.toMatchObject({
      code: -32602,
    });
    device.close();
    await device.wire.ended;
    const gone = await agent.callTool({ name, arguments: { volume: 1 } });
    expect(gone.isError).toBe(true);
    expect(textOf(gone)).toMatch(/^device_offline: offline since \d{4}-/);
  });
});

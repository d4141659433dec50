/** An agent with the official client, while a board connects, disconnects and reconnects. */
import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { Inbox } from "../inbox.ts";
import { tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import { eras, openAgent, textOf } from "./agent.ts";

const mac = "02:00:00:00:00:07";
const clientId = "77777777-7777-4777-8777-777777777777";

async function board(site: Site): Promise<VirtualDevice> {
  const { websocket } = site.tendon.provision(mac, clientId);
  const device = new VirtualDevice({
    board: { mac, clientId, name: "camera-board" },
    url: websocket.url,
    token: websocket.token,
    autoReconnect: false,
  });
  onTestFinished(() => device.stop());
  await device.connect();
  return device;
}

describe.each(eras)("an agent of the %s era", (era) => {
  it("[SRV-9] sees a device connect, calls it, gets its photo, and sees it disconnect and reconnect", async () => {
    const site = await openSite({ config: { agents: { offlineGraceMs: 0 } } });
    const changes = new Inbox<string[]>("change of the tool list");
    const agent = await openAgent(site, era, {
      listChanged: {
        tools: {
          debounceMs: 0,
          onChanged: (_error, tools) => changes.put((tools ?? []).map(({ name }) => name)),
        },
      },
    });
    expect((await agent.listTools()).tools).toHaveLength(7);
    let device = await board(site);
    const prefix = `${String((await site.device(mac))["alias"])}__`;
    let listed: string[] = [];
    while (!listed.includes(`${prefix}camera_take_photo`)) listed = await changes.take();
    expect(listed).not.toContain(`${prefix}reboot`);

    const volume = { name: `${prefix}audio_speaker_set_volume`, arguments: { volume: 30 } };
    expect(textOf(await agent.callTool(volume))).toBe("true");
    const photo = await agent.callTool({
      name: `${prefix}camera_take_photo`,
      arguments: { question: "What is this?" },
    });
    const [, picture] = photo.content as { type: string; data: string; mimeType: string }[];
    expect(picture).toMatchObject({ type: "image", mimeType: "image/jpeg" });
    expect(Buffer.from(picture?.data ?? "", "base64").subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]));
    await agent.callTool({ name: `${prefix}get_device_status`, arguments: {} });

    const position = async () => {
      const { structuredContent } = await agent.callTool({
        name: "events_wait",
        arguments: { timeoutMs: 0 },
      });
      return (structuredContent as { next: string }).next;
    };
    const since = await position();
    await device.stop();
    const gone = await agent.callTool({
      name: "events_wait",
      arguments: { since, types: ["device.offline"] },
    });
    expect(gone.structuredContent).toMatchObject({ events: [{ type: "device.offline", device: mac }] });
    while (listed.includes(volume.name)) listed = await changes.take();
    expect(listed).toHaveLength(7);
    const failed = await agent.callTool(volume);
    expect(failed.isError).toBe(true);
    expect(textOf(failed)).toMatch(/^device_offline: offline since .*\nlast known state: .*"volume":30/);

    const again = (gone.structuredContent as { next: string }).next;
    device = await board(site);
    await agent.callTool({ name: "events_wait", arguments: { since: again, types: ["device.online"] } });
    while (!listed.includes(volume.name)) listed = await changes.take();
    expect(textOf(await agent.callTool(volume))).toBe("true");
  });
});

describe("[SRV-9] a change", () => {
  it("is sent to every subscriber, even if another agent has seen it already", async () => {
    const site = await openSite();
    const told = new Inbox<string>("change of the tool list");
    const listen = (name: string) =>
      openAgent(site, "legacy", {
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => told.put(name) } },
      });
    const hasty = await listen("hasty");
    await listen("patient");
    await site.join({ tools: [tool("a")] });
    // Listed at once, before the notifications.
    expect((await hasty.listTools()).tools).toHaveLength(8);
    expect([await told.take(), await told.take()].sort()).toEqual(["hasty", "patient"]);
  });

  it("that does not affect the list is not sent", async () => {
    const site = await openSite();
    const told = new Inbox<string>("change of the tool list");
    const onChanged = () => told.put("changed");
    await openAgent(site, "legacy", {
      at: "/mcp/compact",
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
    });
    const all = await openAgent(site, "legacy", {
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => told.put("all") } },
    });
    await site.join({ tools: [tool("a")] });
    expect(await told.take()).toBe("all");
    await all.listTools();
    expect(told.waiting).toEqual([]);
  });
});

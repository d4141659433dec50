import type { Client } from "@modelcontextprotocol/client";
import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeToken } from "../access/tokens.ts";
import { textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import { eras, openAgent, watchResources } from "./agent.ts";

const id = "02:00:00:00:00:01";
const encoded = "device://02%3A00%3A00%3A00%3A00%3A01";

async function read(agent: Client, uri: string): Promise<{ [key: string]: unknown }> {
  const { contents } = await agent.readResource({ uri });
  return JSON.parse((contents[0] as { text: string }).text) as { [key: string]: unknown };
}

async function camera(site: Site): Promise<string> {
  const [mac, clientId] = ["02:00:00:00:00:07", "77777777-7777-4777-8777-777777777777"];
  const { websocket } = site.tendon.provision(mac, clientId);
  const device = new VirtualDevice({ board: { mac, clientId }, url: websocket.url, token: websocket.token });
  onTestFinished(() => device.stop());
  await device.connect();
  await site.listed(mac);
  return mac;
}

describe.each(eras)("[SRV-11] resources in the %s era", (era) => {
  it("are the state and the events of every device, by its id or alias", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("self.get_device_status")] });
    const { alias } = await site.device(device.id);
    const agent = await openAgent(site, era);
    const { resources } = await agent.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([`${encoded}/state`, `${encoded}/events`]);
    for (const { uri } of resources) expect(new URL(uri).href).toBe(uri);
    const { resourceTemplates } = await agent.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      "device://{id}/state",
      "device://{id}/events",
      "device://{id}/photos/{n}",
    ]);
    const call = site.call(device.id, "self.get_device_status");
    device.reply((await device.nextRequest("tools/call")).id, textContent('{"battery":80}'));
    await call;
    for (const name of [encoded, `device://${id}`, `device://${String(alias)}`]) {
      expect(await read(agent, `${name}/state`)).toMatchObject({
        id,
        online: true,
        status: { value: { battery: 80 } },
      });
    }
    device.notify("door_opened", { door: "front" });
    await device.quiet();
    const { events, next } = (await read(agent, `${encoded}/events`)) as { events: object[]; next: string };
    expect(events.at(-1)).toMatchObject({ type: "device.notification", data: { method: "door_opened" } });
    expect(next).toMatch(/^[0-9a-f]+-\d+$/);
  });

  it.each([
    "device://no-such-device/state",
    `device://${id}/photos/1`,
    `device://${id}/secrets`,
    "device://%E0%A4%A/state",
    "file:///etc/passwd",
    "nonsense",
  ])("do not include %s", async (uri) => {
    const site = await openSite();
    await site.join({ tools: [] });
    const agent = await openAgent(site, era);
    await expect(agent.readResource({ uri })).rejects.toMatchObject({ code: -32602 });
  });

  it("include only devices that the token sees", async () => {
    const site = await openSite();
    await site.join({ tools: [] });
    const other = await site.join({ deviceId: "02:00:00:00:00:02", tools: [] });
    const { token } = await makeToken(site, { devices: { ids: [id] } });
    const agent = await openAgent(site, era, { token });
    expect((await agent.listResources()).resources).toHaveLength(2);
    const hidden = `device://${encodeURIComponent(other.id)}/events`;
    await expect(agent.readResource({ uri: hidden })).rejects.toMatchObject({ code: -32602 });
    const told =
      era === "modern"
        ? await watchResources(agent, era, [hidden, `${encoded}/events`])
        : await watchResources(agent, era, [`${encoded}/events`]);
    if (era === "legacy") {
      await expect(agent.subscribeResource({ uri: hidden })).rejects.toMatchObject({ code: -32602 });
    }
    other.notify("private");
    await other.quiet();
    expect(told.waiting).toEqual([]);
  });

  it("notify subscribers, once for many changes, and stop after unsubscribing", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [] });
    const agent = await openAgent(site, era);
    const state = `device://${String((await site.device(id))["alias"])}/state`;
    const told = await watchResources(agent, era, [`${encoded}/events`, state]);
    for (let count = 0; count < 50; count += 1) device.notify("tick", { count });
    expect(await told.take()).toBe(`${encoded}/events`);
    await device.quiet();
    device.close();
    const both = [await told.take(), await told.take()];
    while (!both.includes(state)) both.push(await told.take());
    // Fifty ticks and a disconnection cause only a few notifications.
    expect(both.length).toBeLessThan(5);
    expect(await read(agent, state)).toMatchObject({ online: false });
  });

  it("notify for any current or former name of a device, and reject unknown names", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [] });
    for (const alias of ["desk", "kitchen"]) await site.rest("PATCH", `/devices/${id}`, { alias });
    const agent = await openAgent(site, era);
    const names = ["device://desk/events", "device://kitchen/events", `device://${id.toUpperCase()}/events`];
    const ghost = "device://ghost/events";
    const told = await watchResources(agent, era, era === "modern" ? [...names, ghost] : names);
    if (era === "legacy")
      await expect(agent.subscribeResource({ uri: ghost })).rejects.toMatchObject({ code: -32602 });
    device.notify("tick");
    const heard = [await told.take(), await told.take(), await told.take()];
    expect(heard.sort()).toEqual([...names].sort());
    if (era === "modern") {
      const { honoredFilter } = await agent.listen({ resourceSubscriptions: [ghost, ...names] });
      expect(honoredFilter.resourceSubscriptions).toEqual(names);
    }
  });

  it("include the photos of a device", async () => {
    const site = await openSite();
    const mac = await camera(site);
    const agent = await openAgent(site, era, { at: `/mcp/devices/${encodeURIComponent(mac)}` });
    const uri = `device://${encodeURIComponent(mac)}/photos/1`;
    await expect(agent.readResource({ uri })).rejects.toMatchObject({ code: -32602 });
    await agent.callTool({ name: "camera_take_photo", arguments: { question: "What is it?" } });
    const { resources } = await agent.listResources();
    expect(resources.map((resource) => resource.uri)).toContain(uri);
    const { contents } = await agent.readResource({ uri });
    const [photo] = contents as { mimeType: string; blob: string }[];
    expect(photo?.mimeType).toBe("image/jpeg");
    expect(Buffer.from(photo?.blob ?? "", "base64").subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]));
  });
});

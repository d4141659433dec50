/** Aliases of devices that connect to several nodes for the first time at the same moment. */
import { describe, expect, it } from "vitest";
import type { Answer } from "../http-client.ts";
import { until } from "../inbox.ts";
import { modern, say } from "../mcp/rpc.ts";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import type { Site } from "../site.ts";
import { Engines } from "./nodes.ts";

const engines = new Engines();
const pairs = 4;

interface Listed {
  readonly id: string;
  readonly alias: string;
}

async function listOf(site: Site): Promise<Listed[]> {
  const { body } = await site.rest("GET", "/devices");
  return (body["devices"] as unknown as Listed[]).map(({ id, alias }) => ({ id, alias }));
}

/** A device just before the last reply of its setup, which makes it known. */
async function almostThere(site: Site, deviceId: string): Promise<{ device: RawDevice; finish: () => void }> {
  const device = await site.connect({ deviceId });
  await device.greet();
  const info = { protocolVersion: "2024-11-05", serverInfo: { name: "desk", version: "1.0.0" } };
  device.reply((await device.nextRequest("initialize")).id, info);
  device.reply((await device.nextRequest("tools/list")).id, { tools: [tool("self.ring")] });
  const { id } = await device.nextRequest("tools/list");
  return { device, finish: () => device.reply(id, { tools: [tool("self.ring")] }) };
}

/** Calls the tool by its exposed name on this node; returns the device that got the call. */
async function ring(site: Site, name: string, devices: readonly RawDevice[]): Promise<string> {
  const calling: Promise<Answer> = say(site, {
    ...modern("tools/call", { name, arguments: {} }),
    at: "/mcp/flat",
  });
  const rung = await until(() => devices.find(({ wire }) => wire.untaken.length > 0), "a device that rings");
  rung.reply((await rung.nextRequest("tools/call")).id, textContent(rung.id));
  expect((await calling).body).toMatchObject({ result: { content: [{ text: rung.id }] } });
  return rung.id;
}

describe("two devices with the same default alias, new to two nodes at the same time", () => {
  it("get one alias each, the same on every node, and tool names that reach the right device", async () => {
    const fleet = await engines.newFleet();
    const [one, two] = (await fleet.nodes(2)) as [Site, Site];
    const comers = await Promise.all(
      Array.from({ length: pairs }, (_, number) => [
        almostThere(one, `02:00:00:01:00:0${number}`),
        almostThere(two, `02:00:00:02:00:0${number}`),
      ]).flat(),
    );
    for (const { finish } of comers) finish();
    const devices = comers.map(({ device }) => device);
    for (const site of [one, two]) for (const { id } of devices) await site.listed(id);
    await until(async () => {
      const [here, there] = [await listOf(one), await listOf(two)];
      return JSON.stringify(here) === JSON.stringify(there) && new Set(here.map(({ alias }) => alias)).size;
    }, "one list on both nodes");
    const list = await listOf(one);
    const expected = Array.from({ length: pairs }, (_, at) => [`desk-000${at}`, `desk-000${at}-2`]).flat();
    expect(list.map(({ alias }) => alias).sort()).toEqual(expected.sort());
    const three = await fleet.node();
    expect(await listOf(three)).toEqual(list);
    for (const site of [one, two, three]) {
      for (const { id, alias } of list) {
        expect((await site.device(alias))["id"]).toBe(id);
        const { body } = await site.rest("GET", `/devices/${id}/tools`);
        const [{ agentName } = { agentName: "" }] = body["tools"] as unknown as { agentName: string }[];
        expect(agentName).toBe(`${alias}__ring`);
        expect(await ring(site, agentName, devices)).toBe(id);
      }
    }
  });

  it("an alias set for two devices on two nodes goes to one; the other request fails", async () => {
    const [one, two] = (await (await engines.newFleet()).nodes(2)) as [Site, Site];
    const ids = ["02:00:00:00:00:01", "02:00:00:00:00:02"] as const;
    await one.join({ deviceId: ids[0], tools: [tool("a")] });
    await two.join({ deviceId: ids[1], tools: [tool("a")] });
    for (const site of [one, two]) for (const id of ids) await site.listed(id);
    const answers = await Promise.all([
      one.rest("PATCH", `/devices/${ids[0]}`, { alias: "hall", tags: ["a"] }),
      two.rest("PATCH", `/devices/${ids[1]}`, { alias: "hall", tags: ["b"] }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const [lost] = ids.filter((_, at) => answers[at]?.status === 409);
    for (const site of [one, two]) {
      expect((await site.device("hall"))["id"]).not.toBe(lost);
      expect((await site.device(lost ?? ""))["tags"]).toEqual([]);
    }
  });
});

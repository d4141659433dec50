/** Agents see the same tools on every node. */
import { describe, expect, it } from "vitest";
import { data, run, shown } from "../functions.ts";
import { until } from "../inbox.ts";
import { textContent, tool } from "../raw-device.ts";
import { firstDevice, type Site } from "../site.ts";
import { Engines } from "./nodes.ts";

const engines = new Engines();
const name = "raw-board-0001__lamp_on";
const lamp = tool("lamp.on");
const other = { ...lamp, description: "Opens the door." };

async function becomes(site: Site, names: readonly string[]): Promise<void> {
  await until(async () => (await shown(site)).join() === names.join(), `the list ${names.join()}`);
}

describe("two nodes", () => {
  it("[AGT-2, AGT-11] list, find and run the same tools, on whichever node the device is", async () => {
    const fleet = await engines.newFleet();
    const [one, two] = (await fleet.nodes(2)) as [Site, Site];
    const device = await one.join({ tools: [lamp] });
    await becomes(two, [name]);
    expect(await data(two, "tools_search", { query: "lamp" })).toMatchObject({
      tools: [{ tool: "lamp_on" }],
    });
    await two.rest("PATCH", `/devices/${firstDevice}`, { alias: "desk" });
    for (const site of [one, two]) await becomes(site, ["desk__lamp_on"]);
    for (const [site, called] of [
      [one, "desk__lamp_on"],
      [two, name],
    ] as const) {
      const answering = run(site, called);
      device.reply((await device.nextRequest("tools/call")).id, textContent("lit"));
      expect((await answering).status).toBe(200);
    }
  });

  it("[DRI-3, DRI-4] quarantine a changed tool, and release it when it is accepted on either node", async () => {
    const fleet = await engines.newFleet();
    const [one, two] = (await fleet.nodes(2, { config: { access: { quarantine: true } } })) as [Site, Site];
    const device = await one.join({ tools: [lamp] });
    await becomes(two, [name]);
    device.notify("notifications/tools/list_changed");
    await device.list([other]);
    for (const site of [one, two]) await becomes(site, []);
    expect((await run(two, name)).body).toMatchObject({ code: "forbidden", quarantined: true });
    const { body } = await two.rest("GET", `/devices/${firstDevice}/changes`);
    const [change] = body["changes"] as { after: { digest: string } }[];
    await two.rest("POST", `/devices/${firstDevice}/tools/lamp.on/accept`, { digest: change?.after.digest });
    for (const site of [one, two]) await becomes(site, [name]);
  });
});

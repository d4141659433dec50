/** The fleet's tools as agents see them, through function calling. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { run, shown, tokenWith } from "./functions.ts";
import { ManualClock } from "./manual-clock.ts";
import { type RawDevice, tool } from "./raw-device.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

const secondDevice = "02:00:00:00:00:02";

describe("an agent's tool list", () => {
  it("[AGT-1] has every device's tools, with uniform names, in a stable order", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("self.b.two"), tool("self.a.one")] });
    await site.join({ deviceId: secondDevice, board: "lamp", tools: [tool("on")] });
    expect(await shown(site)).toEqual(["lamp-0002__on", "raw-board-0001__a_one", "raw-board-0001__b_two"]);
  });

  it("has user-only tools only with the scope `call:user` itself, not with `admin`", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("on")], userTools: [tool("self.reboot")] });
    expect(await shown(site)).toEqual(["raw-board-0001__on"]);
    expect(await shown(site, await tokenWith(site, ["read", "call"]))).toEqual(["raw-board-0001__on"]);
    expect(await shown(site, await tokenWith(site, ["read"]))).toEqual([]);
    const both = ["raw-board-0001__on", "raw-board-0001__reboot"];
    expect(await shown(site, await tokenWith(site, ["read", "call", "call:user"]))).toEqual(both);
    expect(await shown(site, await tokenWith(site, ["admin", "call:user"]))).toEqual(both);
  });

  it("[TOK-3] has only the devices of its token", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("on")] });
    await site.join({ deviceId: secondDevice, tools: [tool("on")] });
    const token = await tokenWith(site, ["read", "call"], { ids: [secondDevice] });
    expect(await shown(site, token)).toEqual(["raw-board-0002__on"]);
    const answer = await site.rest(
      "POST",
      "/function-call",
      { name: "raw-board-0001__on" },
      { authorization: `Bearer ${token}` },
    );
    expect([answer.status, answer.body["code"]]).toEqual([404, "tool_unknown"]);
  });
});

async function leave(site: Site, device: RawDevice): Promise<void> {
  const events = await site.events("?type=device.offline");
  device.close();
  await events.nextOf("device.offline");
}

function dataFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-toolset-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe("[AGT-12] the tools of an offline device", () => {
  const agents = { offlineGraceMs: 60_000 };

  it("stay in the list for a while, and return with the device", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock, config: { agents } });
    await leave(site, await site.join({ tools: [tool("on")] }));
    clock.advance(59_000);
    expect(await shown(site)).toEqual(["raw-board-0001__on"]);
    clock.advance(1_000);
    expect(await shown(site)).toEqual([]);
    const answer = await run(site, "raw-board-0001__on");
    expect([answer.status, answer.body["code"]]).toEqual([503, "device_offline"]);
    await site.join({ tools: [tool("on")] });
    expect(await shown(site)).toEqual(["raw-board-0001__on"]);
  });

  it("stay while it reconnects, each time for the whole period", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock, config: { agents } });
    await leave(site, await site.join({ tools: [tool("on")] }));
    clock.advance(40_000);
    await leave(site, await site.join({ tools: [tool("on")] }));
    clock.advance(40_000);
    expect(await shown(site)).toEqual(["raw-board-0001__on"]);
    clock.advance(20_000);
    expect(await shown(site)).toEqual([]);
  });

  it("are unchanged after the gateway was down for any time", async () => {
    const data = dataFolder();
    const clock = new ManualClock();
    const first = await openSite({ clock, config: { agents, data } });
    await leave(first, await first.join({ tools: [tool("long_gone")] }));
    clock.advance(61_000);
    await first.join({ deviceId: "02:00:00:00:00:02", tools: [tool("just_here")] });
    expect(await shown(first)).toEqual(["raw-board-0002__just_here"]);
    await first.stop();
    clock.advance(3_600_000);
    const second = await openSite({ clock, config: { agents, data } });
    expect(await shown(second)).toEqual(["raw-board-0002__just_here"]);
    clock.advance(60_000);
    expect(await shown(second)).toEqual([]);
  });
});

describe("[AGT-2] names", () => {
  it("resolve after a restart: for old aliases, offline devices and removed tools", async () => {
    const data = dataFolder();
    const first = await openSite({ config: { data } });
    const device = await first.join({ tools: [tool("self.lamp.on"), tool("self.lamp.off")] });
    for (const alias of ["desk", "shelf"]) await first.rest("PATCH", `/devices/${firstDevice}`, { alias });
    expect(await shown(first)).toEqual(["shelf__lamp_off", "shelf__lamp_on"]);
    const events = await first.events("?type=device.tools_changed");
    device.notify("notifications/tools/list_changed");
    await device.list([tool("self.lamp.on")]);
    await events.nextOf("device.tools_changed");
    await first.stop();
    const second = await openSite({ config: { data } });
    expect(await shown(second)).toEqual(["shelf__lamp_on"]);
    for (const alias of ["raw-board-0001", "desk", "shelf"]) {
      expect((await run(second, `${alias}__lamp_on`)).body["code"]).toBe("device_offline");
      expect((await run(second, `${alias}__lamp_off`)).body).toMatchObject({
        code: "tool_unknown",
        detail: "`shelf` has no tool `self.lamp.off`",
      });
    }
  });

  it("of two tools with the same name stay distinct", async () => {
    const data = dataFolder();
    const first = await openSite({ config: { data } });
    await first.join({ tools: [tool("a.b"), tool("a_b"), tool("a b")] });
    const names = await shown(first);
    expect(names).toEqual([
      "raw-board-0001__a_b",
      expect.stringMatching(/^raw-board-0001__a_b_[0-9a-f]{6}$/),
      expect.stringMatching(/^raw-board-0001__a_b_[0-9a-f]{6}$/),
    ]);
    await first.stop();
    const second = await openSite({ config: { data } });
    const device = await second.join({ tools: [tool("a b"), tool("a_b"), tool("a.b")] });
    expect(await shown(second)).toEqual(names);
    void run(second, "raw-board-0001__a_b");
    expect((await device.nextRequest("tools/call")).params["name"]).toBe("a.b");
  });

  it("of one device never resolve to another, whatever its alias and tools", async () => {
    const site = await openSite();
    await site.join({ board: "lamp", tools: [tool("b__on")] });
    await site.rest("PATCH", `/devices/${firstDevice}`, { alias: "a" });
    await site.join({ deviceId: "02:00:00:00:00:02", tools: [tool("on"), tool("devices_list")] });
    const taken = await site.rest("PATCH", "/devices/02:00:00:00:00:02", { alias: "a" });
    expect(taken.body["code"]).toBe("conflict");
    await site.rest("PATCH", "/devices/02:00:00:00:00:02", { alias: "a-b" });
    const names = await shown(site);
    expect(new Set(names).size).toBe(3);
    expect(names).toEqual(["a-b__devices_list", "a-b__on", "a__b__on"]);
    const { body } = await run(site, "devices_list");
    expect(body["result"]).toMatchObject({ structuredContent: { devices: expect.any(Array) } });
  });
});

describe("a list", () => {
  it("[AGT-5] is identical until tools change, even if devices connect, disconnect or are tagged", async () => {
    const site = await openSite();
    const list = async () => (await site.rest("GET", "/tools.openai.json")).text;
    const device = await site.join({ tools: [tool("b"), tool("a")] });
    const before = await list();
    await leave(site, device);
    expect(await list()).toBe(before);
    await site.rest("PATCH", `/devices/${firstDevice}`, { tags: ["kitchen"] });
    expect(await list()).toBe(before);
    await site.join({ tools: [tool("a"), tool("b")] });
    expect(await list()).toBe(before);
  });

  it("[AGT-6] can have another budget", async () => {
    const site = await openSite({ config: { agents: { toolBudget: 9 } } });
    await site.join({ tools: [tool("a"), tool("b")] });
    expect(await shown(site)).toHaveLength(2);
    await site.join({ deviceId: "02:00:00:00:00:02", tools: [tool("c")] });
    expect(await shown(site)).toEqual([]);
  });
});

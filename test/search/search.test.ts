/** [AGT-11] Everyday requests against 260 devices with 2,600 tools, through the agents' interface. */
import { bareToolName } from "@tendon/protocol";
import { VirtualDevice } from "@tendon/simulator";
import { beforeAll, describe, expect, it, test } from "vitest";
import { data, run, tokenWith } from "../functions.ts";
import { tool } from "../raw-device.ts";
import { firstDevice, openSite, type Site, startSite } from "../site.ts";
import { fleet } from "./fleet.ts";
import {
  acrossLanguages,
  bySynonym,
  otherVolume,
  sameLanguage,
  stockInVietnamese,
  withoutAccents,
} from "./requests.ts";

interface Found {
  readonly device: string;
  readonly tool: string;
  readonly online: boolean;
}

async function search(site: Site, query: string, more: object = {}): Promise<Found[]> {
  const { tools } = await data(site, "tools_search", { query, ...more });
  return tools as unknown as Found[];
}

describe("a search among two and a half thousand tools", () => {
  let site: Site;

  beforeAll(async () => {
    site = await startSite();
    for (const { id, alias, tools } of fleet) {
      await site.join({ deviceId: id, tools });
      await site.rest("PATCH", `/devices/${id}`, { alias });
    }
    return () => site.stop();
  }, 120_000);

  const finds = async (query = "", kind = "", name = "", room = "") => {
    const found = await search(site, query);
    const right = ({ device, tool: bare }: Found) =>
      bare === bareToolName(name) && device.endsWith(`-${kind}`) && device.startsWith(room);
    expect(found.slice(0, 3).some(right), JSON.stringify(found.slice(0, 3))).toBe(true);
  };

  test("covers all of them", async () => {
    expect(fleet).toHaveLength(260);
    expect(new Set(fleet.map(({ alias }) => alias)).size).toBe(260);
    expect(fleet.flatMap(({ tools }) => tools)).toHaveLength(2_600);
  });

  test.each(sameLanguage)("in the tool's own language, %s finds %s %s among the first three", (...request) =>
    finds(...request),
  );

  test.each(bySynonym)("by a synonym, %s finds %s %s among the first three", (...request) =>
    finds(...request),
  );

  test.each(withoutAccents)("as typed on a phone, %s finds %s %s among the first three", (...request) =>
    finds(...request),
  );

  test.each(acrossLanguages)("in another language, %s finds %s %s among the first three", (...request) =>
    finds(...request),
  );

  test.each(otherVolume)(
    "for another volume, %s finds the tool that sets it among the first three",
    async (query) => {
      const found = (await search(site, query)).slice(0, 3).map(({ tool: name }) => name);
      expect(found).toContain("audio_speaker_set_volume");
      expect(found).not.toContain("get_device_status");
    },
  );

  it("needs a tool list of less than 16 KB", async () => {
    const { text, body } = await site.rest("GET", "/tools.openai.json");
    expect(body["tools"]).toHaveLength(7);
    expect(Buffer.byteLength(text)).toBeLessThan(16_000);
  });

  it("is limited to one device if one is named", async () => {
    const found = await search(site, "turn on", { device: "kitchen-lamp" });
    expect(found[0]).toMatchObject({ device: "kitchen-lamp", tool: "lamp_turn_on" });
    expect(found.every(({ device }) => device === "kitchen-lamp")).toBe(true);
  });

  it("lists the tools of a device if only its name is given", async () => {
    const found = await search(site, "attic-robot", { limit: 10 });
    expect(found.map(({ device }) => device)).toEqual(new Array(10).fill("attic-robot"));
  });

  it("[TOK-3] finds nothing on devices outside the token's limit", async () => {
    const [only] = fleet.filter(({ alias }) => alias === "porch-lamp");
    const token = await tokenWith(site, ["read", "call"], { ids: [only?.id] });
    const { body } = await run(site, "tools_search", { query: "turn on the lamp in the kitchen" }, token);
    const { structuredContent } = body["result"] as unknown as { structuredContent: { tools: Found[] } };
    expect(structuredContent.tools.length).toBeGreaterThan(0);
    expect(structuredContent.tools.every(({ device }) => device === "porch-lamp")).toBe(true);
  });

  it("of unknown words finds nothing", async () => {
    expect(await search(site, "xyzzyx qwrtzu")).toEqual([]);
  });

  test.each(["的", "?", "   ", "a".repeat(256), "#light", "*", '{"a":1}', "\u0000", "灯".repeat(200)])(
    "accepts %j",
    async (query) => {
      expect((await run(site, "tools_search", { query })).status).toBe(200);
    },
  );
});

describe("a search among the tools of a stock board", () => {
  let site: Site;
  let board: VirtualDevice;

  beforeAll(async () => {
    site = await startSite();
    board = new VirtualDevice({ url: site.tendon.addresses.deviceWebSocket, autoReconnect: false });
    await board.connect();
    await site.listed(board.id);
    return async () => {
      await board.stop();
      await site.stop();
    };
  });

  test.each(otherVolume)("for another volume, %s finds the tool that sets it first", async (query) => {
    expect((await search(site, query))[0]?.tool).toBe("audio_speaker_set_volume");
  });

  test.each(stockInVietnamese)("in Vietnamese, %s finds %s first", async (query, name) => {
    expect((await search(site, query))[0]?.tool).toBe(name);
  });

  test.each(["how loud is it?", "音量是多少", "âm lượng là bao nhiêu", "am luong la bao nhieu"])(
    "%s finds the tool that reads it first",
    async (query) => {
      expect((await search(site, query))[0]?.tool).toBe("get_device_status");
    },
  );
});

describe("a search in Vietnamese", () => {
  it("ignores accents that are missing, but not those that differ", async () => {
    const site = await openSite();
    await site.join({ tools: [{ ...tool("self.lamp.on"), description: "Turns the lamp on." }] });
    for (const query of ["bật đèn", "bat den", "bật den"])
      expect(await search(site, query)).toMatchObject([{ tool: "lamp_on" }]);
    expect(await search(site, "đến đây")).toEqual([]);
  });

  it("does not mistake English and Spanish words for Vietnamese ones", async () => {
    const site = await openSite();
    await site.join({
      tools: [
        { ...tool("self.battery"), description: "The charge of the battery." },
        { ...tool("self.door.set_pin"), description: "Sets the PIN of the door." },
        { ...tool("self.speech.say"), description: "Dice un texto." },
      ],
    });
    expect((await search(site, "set the pin"))[0]).toMatchObject({ tool: "door_set_pin" });
    expect((await search(site, "di la hora"))[0]).toMatchObject({ tool: "speech_say" });
    expect((await search(site, "tat di"))[0]?.tool).not.toBe("speech_say");
  });
});

describe("a search", () => {
  it("follows changes of devices: new tools, aliases, tags and deletion", async () => {
    const site = await openSite();
    expect(await search(site, "photo")).toEqual([]);
    const device = await site.join({ tools: [tool("self.lamp.on")] });
    expect(await search(site, "lamp")).toMatchObject([{ device: "raw-board-0001", tool: "lamp_on" }]);
    const events = await site.events("?type=device.tools_changed");
    device.notify("notifications/tools/list_changed");
    await device.list([tool("self.camera.take_photo")]);
    await events.nextOf("device.tools_changed");
    expect(await search(site, "lamp")).toEqual([]);
    expect(await search(site, "拍照")).toMatchObject([{ tool: "camera_take_photo" }]);
    await site.rest("PATCH", `/devices/${firstDevice}`, { alias: "veranda", tags: ["upstairs"] });
    for (const name of ["veranda", "upstairs"])
      expect(await search(site, name)).toMatchObject([{ device: "veranda" }]);
    expect(await search(site, "raw-board-0001")).toMatchObject([{ device: "veranda" }]);
    await site.rest("DELETE", `/devices/${firstDevice}`);
    expect(await search(site, "veranda")).toEqual([]);
  });

  it("finds tools of offline devices, and marks them", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("self.lamp.on")] });
    const events = await site.events("?type=device.offline");
    device.close();
    await events.nextOf("device.offline");
    expect(await search(site, "lamp")).toMatchObject([
      { tool: "lamp_on", online: false, offlineSince: expect.stringMatching(/^\d{4}-/) },
    ]);
  });

  it("[AGT-11] ranks online devices first among equal matches, and returns their presence", async () => {
    const site = await openSite();
    const ids = Array.from(
      { length: 30 },
      (_, at) => `02:00:00:00:00:${(at + 1).toString(16).padStart(2, "0")}`,
    );
    const boards = await Promise.all(
      ids.map((deviceId) => site.join({ deviceId, tools: [tool("self.lamp.on")] })),
    );
    for (const id of ids.slice(20)) await site.rest("PATCH", `/devices/${id}`, { tags: ["attic"] });
    // All but one in the attic and two elsewhere.
    const here = ["raw-board-0013", "raw-board-0014", "raw-board-001e"];
    const left = boards.filter(({ id }) => !here.includes(`raw-board-00${id.slice(-2)}`));
    const events = await site.events("?type=device.offline");
    for (const board of left) board.close();
    for (const _ of left) await events.nextOf("device.offline");
    const [only] = await search(site, "turn on the lamp", { limit: 1 });
    expect(only).toMatchObject({ online: true });
    const found = await search(site, "turn on the lamp");
    expect(found).toHaveLength(8);
    expect(found.slice(0, 4).map(({ device, online }) => [device, online])).toEqual([
      ...here.map((device) => [device, true]),
      ["raw-board-0001", false],
    ]);
    // A better match still comes before an online device.
    const named = await search(site, "turn on the lamp in the attic", { limit: 20 });
    expect(named.slice(0, 3).map(({ device, online }) => [device, online])).toEqual([
      ["raw-board-001e", true],
      ["raw-board-0015", false],
      ["raw-board-0016", false],
    ]);
  });

  it("does not find user-only tools for a token that does not name them", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("self.lamp.on")], userTools: [tool("self.lamp.factory_reset")] });
    expect(await search(site, "lamp factory reset")).toMatchObject([{ tool: "lamp_on" }]);
  });
});

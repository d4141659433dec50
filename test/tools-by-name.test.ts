/** `GET /tools`: finds tools of the fleet by parts of their names. */
import { describe, expect, it } from "vitest";
import { tokenWith } from "./functions.ts";
import { tool } from "./raw-device.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

const secondDevice = "02:00:00:00:00:02";

async function found(site: Site, query: string, token?: string): Promise<string[]> {
  const as = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { body } = await site.rest("GET", `/tools?${query}`, undefined, as);
  const tools = body["tools"] as { alias: string; tool: string; online: boolean }[];
  return tools.map(({ alias, tool: name, online }) => `${alias} ${name}${online ? "" : " away"}`);
}

async function twoLamps(): Promise<Site> {
  const site = await openSite();
  const offer = {
    tools: [tool("self.light.set_level"), tool("get_state")],
    userTools: [tool("self.reboot")],
  };
  const first = await site.join(offer);
  await site.join({ deviceId: secondDevice, ...offer });
  await site.rest("PATCH", `/devices/${firstDevice}`, { alias: "desk" });
  await site.rest("PATCH", `/devices/${secondDevice}`, { alias: "hall" });
  const events = await site.events("?type=device.offline");
  first.close();
  await events.nextOf("device.offline");
  return site;
}

describe("tools by their names", () => {
  it("are found on every device, online ones first, by parts of words in any order", async () => {
    const site = await twoLamps();
    const level = ["hall self.light.set_level", "desk self.light.set_level away"];
    for (const q of ["level", "LIGHT", "lev set", "  set%20%20light "]) {
      expect(await found(site, `q=${encodeURIComponent(decodeURIComponent(q))}`), q).toEqual(level);
    }
    expect(await found(site, "q=desk%20lev")).toEqual(["desk self.light.set_level away"]);
    expect(await found(site, "q=reboot")).toEqual(["hall self.reboot", "desk self.reboot away"]);
    // The name of a device alone finds no tool.
    expect(await found(site, "q=desk")).toEqual([]);
    expect(await found(site, "q=%20")).toEqual([]);
    expect(await found(site, "q=e&limit=3")).toHaveLength(3);
  });

  it("include only tools that the caller may call, on devices that it may see", async () => {
    const site = await twoLamps();
    const agent = await tokenWith(site, ["read", "call"]);
    expect(await found(site, "q=reboot", agent)).toEqual([]);
    const one = await tokenWith(site, ["read", "call"], { ids: [firstDevice] });
    expect(await found(site, "q=level", one)).toEqual(["desk self.light.set_level away"]);
    expect(await found(site, "q=level", await tokenWith(site, ["read"]))).toEqual([]);
    const blind = await tokenWith(site, ["call"]);
    const refused = await site.rest("GET", "/tools?q=level", undefined, { authorization: `Bearer ${blind}` });
    expect(refused.body["code"]).toBe("forbidden");
  });

  it("are limited in number", async () => {
    const site = await openSite();
    for (const query of ["", "?q=", `?q=${"x".repeat(129)}`, "?q=x&limit=0", "?q=x&limit=51"]) {
      expect((await site.rest("GET", `/tools${query}`)).body["code"], query).toBe("bad_request");
    }
  });
});

/** The fleet's tools as agents see them, through the function-calling door. */
import { describe, expect, it } from "vitest";
import { textContent, tool } from "./raw-device.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

const secondDevice = "02:00:00:00:00:02";

async function shown(site: Site, token?: string): Promise<string[]> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { body } = await site.rest("GET", "/tools.anthropic.json", undefined, headers);
  return (body["tools"] as { name: string }[]).map(({ name }) => name);
}

async function tokenWith(site: Site, scopes: readonly string[], devices?: object): Promise<string> {
  const { body } = await site.rest("POST", "/tokens", { name: "agent", scopes, devices });
  return body["token"] as string;
}

describe("what an agent is shown", () => {
  it("[AGT-1] every device's tools, under names of one kind, in one order", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("self.b.two"), tool("self.a.one")] });
    await site.join({ deviceId: secondDevice, board: "lamp", tools: [tool("on")] });
    expect(await shown(site)).toEqual(["lamp-0002__on", "raw-board-0001__a_one", "raw-board-0001__b_two"]);
  });

  it("user-only tools only where the token names that scope, which `admin` does not", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("on")], userTools: [tool("self.reboot")] });
    expect(await shown(site)).toEqual(["raw-board-0001__on"]);
    expect(await shown(site, await tokenWith(site, ["call"]))).toEqual(["raw-board-0001__on"]);
    expect(await shown(site, await tokenWith(site, ["read"]))).toEqual([]);
    const both = ["raw-board-0001__on", "raw-board-0001__reboot"];
    expect(await shown(site, await tokenWith(site, ["call", "call:user"]))).toEqual(both);
    expect(await shown(site, await tokenWith(site, ["admin", "call:user"]))).toEqual(both);
  });

  it("[TOK-3] only the devices its token is for", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("on")] });
    await site.join({ deviceId: secondDevice, tools: [tool("on")] });
    const token = await tokenWith(site, ["call"], { ids: [secondDevice] });
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

describe("a function call", () => {
  it("[AGT-2] reaches the tool behind the name, also under names of earlier aliases", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("self.lamp.on")] });
    await site.rest("PATCH", `/devices/${firstDevice}`, { alias: "desk" });
    expect(await shown(site)).toEqual(["desk__lamp_on"]);
    for (const name of ["desk__lamp_on", "raw-board-0001__lamp_on"]) {
      const answering = site.rest("POST", "/function-call", { name, arguments: {} });
      const request = await device.nextRequest("tools/call");
      expect(request.params["name"]).toBe("self.lamp.on");
      device.reply(request.id, textContent("lit"));
      expect((await answering).body).toMatchObject({
        device: firstDevice,
        tool: "self.lamp.on",
        result: { content: [{ type: "text", text: "lit" }], isError: false },
      });
    }
  });

  it("[AGT-2] to a device that is away says so at once", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("on")] });
    const events = await site.events("?type=device.offline");
    device.close();
    await events.nextOf("device.offline");
    const answer = await site.rest("POST", "/function-call", { name: "raw-board-0001__on" });
    expect([answer.status, answer.body["code"]]).toEqual([503, "device_offline"]);
  });

  it("of a user-only tool needs the scope by name, which `admin` is not", async () => {
    const site = await openSite();
    await site.join({ tools: [], userTools: [tool("self.reboot")] });
    const answer = await site.rest("POST", "/function-call", { name: "raw-board-0001__reboot" });
    expect([answer.status, answer.body["code"]]).toEqual([403, "forbidden"]);
  });

  it("of a name that nobody has is `tool_unknown`", async () => {
    const site = await openSite();
    const answer = await site.rest("POST", "/function-call", { name: "desk__lamp_on" });
    expect([answer.status, answer.body["code"]]).toEqual([404, "tool_unknown"]);
  });
});

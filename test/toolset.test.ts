/** The fleet's tools as agents see them, through the function-calling door. */
import { describe, expect, it } from "vitest";
import { shown, tokenWith } from "./functions.ts";
import { tool } from "./raw-device.ts";
import { openSite } from "./site.ts";

const secondDevice = "02:00:00:00:00:02";

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

import { describe, expect, it } from "vitest";
import { openGuarded } from "./guarded.ts";
import { as, makeToken } from "./tokens.ts";

describe("the check of a call", () => {
  it("[ACC-9] decides like the call, by token, rules and arguments, and sends nothing", async () => {
    const rules = [
      { tool: "set_volume", args: { volume: { min: 80 } }, effect: "confirm" as const, reason: "loud" },
      { tool: "free", effect: "deny" as const },
    ];
    const { site, device, agent } = await openGuarded({ rules });
    const check = async (name: string, args: object, token = agent.token) => {
      const at = `/devices/${device.id}/tools/${name}/check`;
      const { status, body } = await site.rest("POST", at, { arguments: args }, as(token));
      return { status, body };
    };
    expect(await check("set_volume", { volume: 30 })).toEqual({ status: 200, body: { access: "allowed" } });
    expect(await check("set_volume", { volume: 90 })).toEqual({
      status: 200,
      body: { access: "confirm", reason: "loud" },
    });
    expect(await check("set_volume", { volume: -1 })).toMatchObject({ status: 422 });
    expect(await check("free", {})).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(await check("self.reboot", {})).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(await check("nothing", {})).toMatchObject({ status: 404, body: { code: "tool_unknown" } });
    const viewer = await makeToken(site, { name: "viewer", scopes: ["read"] });
    expect(await check("set_volume", { volume: 30 }, viewer.token)).toMatchObject({ status: 403 });
    expect(await device.quiet()).toEqual([]);
    expect((await site.rest("GET", "/calls")).body["calls"]).toEqual([]);
    expect((await site.rest("GET", "/approvals")).body["approvals"]).toEqual([]);
  });
});

describe("the tool list", () => {
  it("has the gateway's annotations of each tool", async () => {
    const { site, device } = await openGuarded({});
    const { body } = await site.rest("GET", `/devices/${device.id}/tools?user=true`);
    const found = Object.fromEntries(
      (body["tools"] as unknown as { name: string; annotations: object }[]).map(({ name, annotations }) => [
        name,
        annotations,
      ]),
    );
    expect(found).toMatchObject({
      set_volume: { readOnlyHint: false, destructiveHint: false },
      "self.reboot": { readOnlyHint: false, destructiveHint: true },
    });
  });
});

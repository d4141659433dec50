/** Approvals and token scopes, for calls to any node. */
import { describe, expect, it } from "vitest";
import { makeToken } from "../access/tokens.ts";
import type { Answer } from "../http-client.ts";
import { until } from "../inbox.ts";
import { modern, say } from "../mcp/rpc.ts";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import { firstDevice, type Site } from "../site.ts";
import { Engines, type Fleet } from "./nodes.ts";

const engines = new Engines();
const tools = [tool("lock"), tool("ring")];
const config = {
  access: { rules: [{ tool: "lock", effect: "confirm" as const }] },
  calls: { queue: 1 },
};

interface Two {
  readonly fleet: Fleet;
  readonly one: Site;
  readonly two: Site;
  /** Connected to the first node and known to both. */
  readonly device: RawDevice;
}

async function twoNodes(): Promise<Two> {
  const fleet = await engines.newFleet();
  const [one, two] = await fleet.nodes(2, { config });
  if (one === undefined || two === undefined) throw new TypeError("two nodes were asked for");
  const device = await one.join({ tools });
  await two.listed(firstDevice);
  return { fleet, one, two, device };
}

/** A call over REST with the agent's token. */
function caller(token: string) {
  const headers = { authorization: `Bearer ${token}` };
  return (site: Site, name: string): Promise<Answer> =>
    site.rest("POST", `/devices/${firstDevice}/tools/${name}/call`, { arguments: {} }, headers);
}

describe("an approval", () => {
  it("requested on one node and given on another allows one call, on any node", async () => {
    const { one, two, device } = await twoNodes();
    const call = caller((await makeToken(two, {})).token);
    const { status, body } = await call(two, "lock");
    expect([status, body["code"]]).toEqual([403, "approval_required"]);
    const approval = `/approvals/${String(body["approvalId"])}`;
    expect((await one.rest("POST", `${approval}/approve`)).body).toMatchObject({ state: "approved" });
    const answers = Promise.all([one, two, one, two].map((site) => call(site, "lock")));
    device.reply((await device.nextRequest("tools/call")).id, textContent("locked"));
    const codes = (await answers).map((answer) => answer.body["code"] ?? answer.status);
    expect(codes.sort()).toEqual([200, "approval_required", "approval_required", "approval_required"]);
    expect(await device.quiet()).toEqual([]);
    expect((await two.rest("GET", approval)).body).toMatchObject({ consumedAt: expect.any(String) });
  });

  it("is not used up by a call that fails because the device's queue is full", async () => {
    const { one, two, device } = await twoNodes();
    const call = caller((await makeToken(one, {})).token);
    const approval = `/approvals/${String((await call(two, "lock")).body["approvalId"])}`;
    await two.rest("POST", `${approval}/approve`);
    const busy = [call(one, "ring"), call(two, "ring")];
    await until(async () => (await two.device(firstDevice))["queuedCalls"] === 1, "a full queue");
    expect((await call(two, "lock")).body["code"]).toBe("queue_full");
    expect((await one.rest("GET", approval)).body).toMatchObject({ state: "approved", consumedAt: null });
    for (const _ of busy) device.reply((await device.nextRequest("tools/call")).id, textContent("rung"));
    await Promise.all(busy);
    const locked = call(two, "lock");
    device.reply((await device.nextRequest("tools/call")).id, textContent("locked"));
    expect((await locked).status).toBe(200);
  });
});

describe("[SRV-12] a confirmation in an agent's request state", () => {
  const able = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
  const yes = { tendon_confirm: { action: "accept", content: { allow: true } } };

  interface Round {
    readonly result?: { readonly resultType: string; readonly requestState: string };
  }

  async function send(site: Site, token: string, more: Record<string, unknown> = {}): Promise<Round> {
    const params = { name: "device_call", arguments: { device: firstDevice, tool: "lock" }, ...more };
    const said = modern("tools/call", params);
    Object.assign((said.body as { params: { _meta: object } }).params._meta, able);
    return (await say(site, { ...said, token })).body as Round;
  }

  it("allows one call, on whichever nodes it is used, also on one that joins later", async () => {
    const { fleet, one, two, device } = await twoNodes();
    const { token } = await makeToken(two, {});
    const asked = await send(two, token);
    expect(asked.result?.resultType).toBe("input_required");
    const answered = { inputResponses: yes, requestState: asked.result?.requestState };
    const rounds = Promise.all([one, two, one].map((site) => send(site, token, answered)));
    device.reply((await device.nextRequest("tools/call")).id, textContent("locked"));
    const ends = (await rounds).map(({ result }) => result?.resultType);
    expect(ends.sort()).toEqual(["complete", "input_required", "input_required"]);
    const three = await fleet.node({ config });
    await three.listed(firstDevice);
    for (const site of [one, two, three]) {
      expect((await send(site, token, answered)).result?.resultType).toBe("input_required");
    }
    expect(await device.quiet()).toEqual([]);
  });
});

describe("a token", () => {
  it("has the same scopes on every node", async () => {
    const { one, two, device } = await twoNodes();
    const reader = caller((await makeToken(one, { scopes: ["read"] })).token);
    const stranger = caller((await makeToken(one, { devices: { ids: ["02:00:00:00:00:99"] } })).token);
    for (const site of [one, two]) {
      expect((await reader(site, "ring")).body["code"]).toBe("forbidden");
      expect((await stranger(site, "ring")).body["code"]).toBe("device_unknown");
      expect((await site.call(firstDevice, "nothing")).body["code"]).toBe("tool_unknown");
    }
    expect(await device.quiet()).toEqual([]);
  });
});

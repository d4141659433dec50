import { describe, expect, it } from "vitest";
import { ManualClock } from "../manual-clock.ts";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import { as, makeToken } from "./tokens.ts";

const volume = { volume: { type: "integer", minimum: 0, maximum: 100 } };
const confirmVolume = { tool: "set_volume", effect: "confirm" as const };

async function open(clock = new ManualClock()) {
  const site = await openSite({ clock, config: { access: { rules: [confirmVolume] } } });
  const device = await site.join({ tools: [tool("set_volume", volume, ["volume"]), tool("free")] });
  const agent = await makeToken(site, { name: "agent", scopes: ["read", "call"] });
  const person = await makeToken(site, { name: "person", scopes: ["read", "call:user"] });
  const call = (args: object, token = agent.token) =>
    site.rest("POST", `/devices/${device.id}/tools/set_volume/call`, { arguments: args }, as(token));
  const decide = (id: string, word: "approve" | "deny", token = person.token) =>
    site.rest("POST", `/approvals/${id}/${word}`, undefined, as(token));
  return { clock, site, device, agent, person, call, decide };
}

async function answerOne(device: RawDevice): Promise<unknown> {
  const { id, params } = await device.nextRequest("tools/call");
  device.reply(id, textContent("true"));
  return params["arguments"];
}

function approvalIdOf(answer: Awaited<ReturnType<Site["rest"]>>): string {
  expect([answer.status, answer.body["code"]]).toEqual([403, "approval_required"]);
  return String(answer.body["approvalId"]);
}

describe("a call that needs a person's word", () => {
  it("[APR-1, APR-3] is refused at once, approved by somebody else, and sent once", async () => {
    const { site, device, person, call, decide } = await open();
    const id = approvalIdOf(await call({ volume: 30 }));
    expect(approvalIdOf(await call({ volume: 30 }))).toBe(id);
    expect(approvalIdOf(await call({ volume: 31 }))).not.toBe(id);
    expect(await device.quiet()).toEqual([]);
    const listed = await site.rest("GET", "/approvals?state=waiting", undefined, as(person.token));
    expect(listed.body["approvals"]).toMatchObject([
      { arguments: { volume: 31 } },
      {
        id,
        state: "waiting",
        device: device.id,
        tool: "set_volume",
        arguments: { volume: 30 },
        principal: "agent",
      },
    ]);
    const decided = await decide(id, "approve");
    expect([decided.status, decided.body["state"], decided.body["decidedBy"]]).toEqual([
      200,
      "approved",
      "person",
    ]);
    const repeated = call({ volume: 30 });
    expect(await answerOne(device)).toEqual({ volume: 30 });
    expect((await repeated).status).toBe(200);
    expect(approvalIdOf(await call({ volume: 30 }))).not.toBe(id);
    const { body } = await site.rest("GET", "/calls?outcome=ok");
    expect(body["calls"]).toMatchObject([{ tool: "set_volume", principal: "agent", approval: id }]);
  });
});

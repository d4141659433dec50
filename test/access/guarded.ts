/** A gateway where one tool requires approval, with an agent that calls it and a person who decides. */
import { expect } from "vitest";
import type { Answer } from "../http-client.ts";
import { ManualClock } from "../manual-clock.ts";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import { as, makeToken } from "./tokens.ts";

export const volume = { volume: { type: "integer", minimum: 0, maximum: 100 }, fade: { type: "boolean" } };
export const setVolume = tool("set_volume", volume, ["volume"]);
export const rules = [{ tool: "set_volume", effect: "confirm" as const }];
export const second = "02:00:00:00:00:02";

export async function openGuarded(access: object = { rules }, config: object = {}) {
  const clock = new ManualClock();
  const site = await openSite({ clock, config: { ...config, access } });
  const device = await site.join({ tools: [setVolume, tool("free")], userTools: [tool("self.reboot")] });
  const agent = await makeToken(site, { name: "agent", scopes: ["read", "call"] });
  const person = await makeToken(site, { name: "person", scopes: ["read", "call:user"] });
  const call = (args: object, more: Record<string, string> = {}) =>
    site.rest(
      "POST",
      `/devices/${device.id}/tools/set_volume/call`,
      { arguments: args },
      {
        ...as(agent.token),
        ...more,
      },
    );
  const decide = (id: string, word: "approve" | "deny", token = person.token) =>
    site.rest("POST", `/approvals/${id}/${word}`, undefined, as(token));
  return { clock, site, device, agent, person, call, decide };
}

export async function answerOne(device: RawDevice): Promise<unknown> {
  const { id, params } = await device.nextRequest("tools/call");
  device.reply(id, textContent("true"));
  return params["arguments"];
}

export function approvalIdOf({ status, body }: Answer): string {
  expect([status, body["code"]]).toEqual([403, "approval_required"]);
  return String(body["approvalId"]);
}

export async function waiting(site: Site, token: string): Promise<{ id: string }[]> {
  const { body } = await site.rest("GET", "/approvals?state=waiting", undefined, as(token));
  return body["approvals"] as unknown as { id: string }[];
}

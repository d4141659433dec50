/** `DELETE /devices/{device}?history=true`: nothing about the device is left but the audit's entry. */
import { describe, expect, it } from "vitest";
import { as, makeToken } from "./access/tokens.ts";
import { Engines } from "./cluster/nodes.ts";
import { until } from "./inbox.ts";
import { type Fields, type RawDevice, textContent, tool } from "./raw-device.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

const other = "02:00:00:00:00:02";

async function called(site: Site, device: RawDevice, headers: Record<string, string> = {}): Promise<string> {
  const path = `/devices/${device.id}/tools/a/call`;
  const calling = site.rest("POST", path, { arguments: { secret: "s3cr3t" } }, headers);
  device.reply((await device.nextRequest("tools/call")).id, textContent("my answer"));
  return String((await calling).body["callId"]);
}

async function callsOf(site: Site, device: string): Promise<Fields[]> {
  return (await site.rest("GET", `/calls?device=${device}`)).body["calls"] as Fields[];
}

describe("a device that is deleted with its history", () => {
  it("leaves no calls, events, frames and answers, and others keep theirs", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a", { secret: { type: "string" } })] });
    const second = await site.join({ deviceId: other, tools: [tool("a", { secret: { type: "string" } })] });
    const before = await site.events();
    const callId = await called(site, device, { "idempotency-key": "k1" });
    const kept = await called(site, second, { "idempotency-key": "k2" });
    device.notify("custom", { who: "me" });
    const first = await before.next();
    await until(async () => (await callsOf(site, other)).length === 1);
    expect((await site.rest("DELETE", `/devices/${firstDevice}?history=true`)).status).toBe(204);
    expect(await callsOf(site, firstDevice)).toEqual([]);
    expect((await site.rest("GET", `/calls/${callId}`)).status).toBe(404);
    expect((await callsOf(site, other)).map((call) => call["callId"])).toEqual([kept]);
    const after = await site.events("", { "last-event-id": String(first.id) });
    await makeToken(site, {});
    const seen = [await after.next(), await after.next()];
    expect(seen.map((event) => event.device).filter((id) => id === firstDevice)).toEqual([]);
    const repeated = await site.rest(
      "POST",
      `/devices/${firstDevice}/tools/a/call`,
      { arguments: { secret: "s3cr3t" } },
      { "idempotency-key": "k1" },
    );
    expect(repeated.body).toMatchObject({ code: "conflict" });
    expect(JSON.stringify(repeated.body)).not.toContain("my answer");
    const { body } = await site.rest("GET", "/audit?action=device.delete");
    expect(body["entries"]).toMatchObject([{ target: { id: firstDevice }, detail: { history: true } }]);
  });

  it("may have been deleted before", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a", { secret: { type: "string" } })] });
    await called(site, device);
    await site.rest("DELETE", `/devices/${firstDevice}`);
    expect(await callsOf(site, firstDevice)).toHaveLength(1);
    expect((await site.rest("DELETE", `/devices/${firstDevice}?history=true`)).status).toBe(204);
    expect(await callsOf(site, firstDevice)).toEqual([]);
    expect((await site.rest("DELETE", `/devices/${firstDevice}?history=true`)).status).toBe(404);
    const { token } = await makeToken(site, { scopes: ["read", "call"] });
    const path = `/devices/${firstDevice}?history=true`;
    expect((await site.rest("DELETE", path, undefined, as(token))).status).toBe(404);
  });
});

describe("in a cluster", () => {
  const engines = new Engines();

  it("is forgotten by every node", async () => {
    const [one, two] = await (await engines.newFleet()).nodes(2);
    if (one === undefined || two === undefined) throw new TypeError("two nodes were asked for");
    const device = await one.join({ tools: [tool("a", { secret: { type: "string" } })] });
    await until(async () => (await two.device(firstDevice))["toolCount"] === 1);
    const events = await two.events();
    await called(one, device);
    const first = await events.next();
    await until(async () => (await callsOf(two, firstDevice)).length === 1);
    expect((await two.rest("DELETE", `/devices/${firstDevice}?history=true`)).status).toBe(204);
    for (const site of [one, two]) {
      expect(await callsOf(site, firstDevice)).toEqual([]);
      const after = await site.events("?type=device.online,call.finished,audit.recorded", {
        "last-event-id": String(first.id),
      });
      await makeToken(site, {});
      expect((await after.next()).type).toBe("audit.recorded");
    }
  });
});

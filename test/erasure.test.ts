/** `DELETE /devices/{device}?history=true`: nothing about the device is left but the audit's entry. */
import { describe, expect, it } from "vitest";
import { as, makeToken } from "./access/tokens.ts";
import { Engines } from "./cluster/nodes.ts";
import { until } from "./inbox.ts";
import { type Fields, type RawDevice, textContent, tool } from "./raw-device.ts";
import { RestartingGateway } from "./restarting-gateway.ts";
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

  it("leaves no alias and no tag in the audit and its events, only what was done", async () => {
    const site = await openSite();
    await site.join();
    await site.join({ deviceId: other });
    const live = await site.events("?type=audit.recorded");
    await makeToken(site, {});
    const start = await live.next();
    const at = `/devices/${firstDevice}`;
    await site.rest("PATCH", at, { alias: "anns-bedroom", tags: ["ann"] });
    await site.rest("PATCH", at, { alias: "bobs-bedroom", tags: ["bob"] });
    await site.rest("PATCH", `/devices/${other}`, { alias: "desk", tags: ["lab"] });
    await site.rest("POST", `${at}/revoke`);
    expect((await site.rest("DELETE", `${at}?history=true`)).status).toBe(204);
    const { body, text } = await site.rest("GET", "/audit");
    expect(text).not.toMatch(/ann|bob/);
    const entries = (body["entries"] as Fields[]).filter(
      ({ target }) => (target as Fields)["id"] === firstDevice,
    );
    const target = { type: "device", id: firstDevice, name: firstDevice };
    expect(entries.map(({ action, detail }) => [action, detail])).toEqual([
      ["device.delete", { history: true }],
      ["device.revoke", undefined],
      ["device.tag", { erased: true }],
      ["device.rename", { erased: true }],
      ["device.tag", { erased: true }],
      ["device.rename", { erased: true }],
    ]);
    for (const entry of entries) expect(entry).toMatchObject({ principal: "admin", target });
    const resumed = await site.events("?type=audit.recorded", { "last-event-id": String(start.id) });
    const seen = [await resumed.next(), await resumed.next(), await resumed.next()];
    expect(seen.map(({ data }) => data["action"])).toEqual(["device.rename", "device.tag", "device.delete"]);
    expect(JSON.stringify(seen)).not.toMatch(/ann|bob/);
  });

  it("leaves no alias in stored events, after a restart", async () => {
    const gateway = await RestartingGateway.start({});
    await gateway.join(firstDevice);
    const live = await gateway.events("?type=audit.recorded");
    const token = { name: "reader", scopes: ["read"] };
    await gateway.rest("POST", "/tokens", token);
    const start = await live.next();
    await gateway.rest("PATCH", `/devices/${firstDevice}`, { alias: "anns-bedroom" });
    await live.next();
    await gateway.restart();
    expect((await gateway.rest("DELETE", `/devices/${firstDevice}?history=true`)).status).toBe(204);
    const resumed = await gateway.events("?type=audit.recorded", String(start.id));
    const seen = [await resumed.next(), await resumed.next()];
    expect(seen.map(({ data }) => data["action"])).toEqual(["settings.start", "device.delete"]);
    expect(JSON.stringify(seen)).not.toContain("ann");
  });

  it("may have been renamed and deleted before, without a call", async () => {
    const site = await openSite();
    await site.join();
    await site.rest("PATCH", `/devices/${firstDevice}`, { alias: "anns-bedroom" });
    await site.rest("DELETE", `/devices/${firstDevice}`);
    expect((await site.rest("DELETE", `/devices/${firstDevice}?history=true`)).status).toBe(204);
    expect((await site.rest("GET", "/audit")).text).not.toContain("ann");
    expect((await site.rest("DELETE", `/devices/${firstDevice}?history=true`)).status).toBe(404);
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
      await makeToken(site, { name: site === one ? "one" : "two" });
      expect((await after.next()).type).toBe("audit.recorded");
    }
  });
});

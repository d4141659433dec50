import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { type Fields, type RawDevice, textContent, tool } from "../raw-device.ts";
import { firstDevice, openSite, type Site } from "../site.ts";
import type { DeviceTransport } from "../transport.ts";

const ring = tool("ring", { times: { type: "integer", minimum: 0, maximum: 9 } }, ["times"]);
const tools = [ring, tool("dim")];

/** Calls that wait for a device that is away, through REST, with the device on any node. */
export function queueScenarios(transport: DeviceTransport): void {
  async function away(): Promise<Site> {
    const site = await openSite({ transport });
    const device = await site.join({ transport, tools });
    device.close();
    await until(async () => (await site.device(firstDevice))["online"] === false, "the device is offline");
    return site;
  }

  async function queue(site: Site, name: string, args: Fields = {}, more: Fields = {}): Promise<string> {
    const at = `/devices/${firstDevice}/tools/${name}/call`;
    const reply = await site.rest("POST", at, { arguments: args, whenOffline: "queue", ...more });
    expect(reply).toMatchObject({ status: 202, body: { device: firstDevice, tool: name, state: "queued" } });
    return String(reply.body["callId"]);
  }

  async function ended(site: Site, callId: string): Promise<Fields> {
    return await until(async () => {
      const { body } = await site.rest("GET", `/calls/${callId}`);
      return body["state"] === "finished" && body;
    }, "the end of the call");
  }

  async function back(site: Site): Promise<RawDevice> {
    const device = await site.connect({ transport });
    await device.greet();
    await device.setUp({ tools });
    return device;
  }

  async function answerNext(device: RawDevice): Promise<Fields> {
    const { id, params } = await device.nextRequest("tools/call");
    device.reply(id, textContent("done"));
    return params;
  }

  describe("a queued call", () => {
    it("[QUE-1][QUE-3] waits under one id, runs when the device is back, and is in the history once", async () => {
      const site = await away();
      const events = await site.events("?type=call.queued,call.finished");
      const callId = await queue(site, "ring", { times: 3 });
      expect(await events.next()).toMatchObject({
        type: "call.queued",
        device: firstDevice,
        data: { callId },
      });
      expect((await site.rest("GET", `/calls/${callId}`)).body).toMatchObject({
        state: "queued",
        phase: "away",
        outcome: null,
        at: null,
        arguments: { times: 3 },
      });
      expect((await site.rest("GET", "/calls?state=queued")).body["calls"]).toMatchObject([{ callId }]);
      expect(await site.device(firstDevice)).toMatchObject({ waitingCalls: 1 });
      const device = await back(site);
      expect(await answerNext(device)).toEqual({ name: "ring", arguments: { times: 3 } });
      expect(await ended(site, callId)).toMatchObject({
        outcome: "ok",
        answer: { content: [{ type: "text", text: "done" }] },
        startedAt: expect.any(String),
        sentAt: expect.any(String),
      });
      expect(await events.next()).toMatchObject({
        type: "call.finished",
        data: { callId, outcome: "ok", queued: true },
      });
      const history = await until(async () => {
        const { body } = await site.rest("GET", `/calls?device=${firstDevice}`);
        const own = (body["calls"] as Fields[]).filter((call) => call["callId"] === callId);
        return own.length > 0 && own;
      }, "the call in the history");
      expect(history).toMatchObject([{ callId, outcome: "ok", tool: "ring" }]);
      expect((await site.rest("GET", "/calls?state=queued")).body["calls"]).toEqual([]);
      expect(await site.device(firstDevice)).toMatchObject({ waitingCalls: 0 });
    });

    it("[QUE-4] runs after those before it, one at a time, and a later live call after it", async () => {
      const site = await away();
      const ids = [];
      for (const times of [1, 2, 3]) ids.push(await queue(site, "ring", { times }));
      const device = await back(site);
      const first = await device.nextRequest("tools/call");
      const live = site.call(firstDevice, "dim");
      await until(async () => (await site.device(firstDevice))["queuedCalls"] === 1, "the live call waits");
      device.reply(first.id, textContent("done"));
      const order = [
        first.params,
        await answerNext(device),
        await answerNext(device),
        await answerNext(device),
      ];
      expect(order.map(({ name, arguments: args }) => [name, args])).toEqual([
        ["ring", { times: 1 }],
        ["ring", { times: 2 }],
        ["ring", { times: 3 }],
        ["dim", {}],
      ]);
      expect((await live).status).toBe(200);
      for (const id of ids) expect(await ended(site, id)).toMatchObject({ outcome: "ok" });
    });

    it("[QUE-5] that was sent when the device left ends as device_disconnected and never runs again", async () => {
      const site = await away();
      const lost = await queue(site, "ring", { times: 1 });
      const next = await queue(site, "ring", { times: 2 });
      const device = await back(site);
      await device.nextRequest("tools/call");
      device.cut();
      const end = await ended(site, lost);
      expect(end).toMatchObject({ outcome: "device_disconnected", sentAt: expect.any(String) });
      const again = await back(site);
      expect(await answerNext(again)).toMatchObject({ arguments: { times: 2 } });
      expect(await ended(site, next)).toMatchObject({ outcome: "ok" });
      expect(await again.quiet()).toEqual([]);
    });

    it("[QUE-3] can be cancelled while it waits, and not after it has ended", async () => {
      const site = await away();
      const callId = await queue(site, "ring", { times: 1 });
      expect(await site.rest("DELETE", `/calls/${callId}`)).toMatchObject({
        status: 200,
        body: { callId, state: "finished", outcome: "cancelled" },
      });
      expect(await site.rest("DELETE", `/calls/${callId}`)).toMatchObject({
        status: 409,
        body: { code: "conflict", state: "finished" },
      });
      const device = await back(site);
      await site.listed(firstDevice);
      expect(await device.quiet()).toEqual([]);
    });

    it("[QUE-2] is refused if its tool has changed meanwhile", async () => {
      const site = await away();
      const callId = await queue(site, "ring", { times: 1 });
      const device = await site.connect({ transport });
      await device.greet();
      await device.setUp({ tools: [tool("ring", { times: { type: "string" } }), tool("dim")] });
      const end = await ended(site, callId);
      expect(end).toMatchObject({
        outcome: "refused",
        sentAt: null,
        detail: expect.stringContaining("`ring`"),
      });
      expect(await device.quiet()).toEqual([]);
    });
  });
}

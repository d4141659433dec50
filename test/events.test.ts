import { describe, expect, it } from "vitest";
import type { EventReader } from "./event-reader.ts";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { type RawDevice, tool } from "./raw-device.ts";
import { firstDevice, openSite } from "./site.ts";

const otherDevice = "02:00:00:00:00:02";

function tick(device: RawDevice, from: number, to: number): void {
  for (let count = from; count <= to; count += 1) device.notify("notifications/tick", { count });
}

async function counts(reader: EventReader, many: number): Promise<unknown[]> {
  await until(() => reader.seen.filter(({ type }) => type === "device.notification").length >= many);
  return reader.seen
    .filter(({ type }) => type === "device.notification")
    .map(({ data }) => (data["params"] as { count: number }).count);
}

describe("the event stream", () => {
  it("[EVT-1] sends its headers and a comment at once", async () => {
    const site = await openSite();
    const reader = await site.events();
    expect(reader.response.statusCode).toBe(200);
    expect(reader.response.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    expect(reader.response.headers["cache-control"]).toBe("no-store");
    await until(() => reader.comments.length === 1);
  });

  it("[EVT-2] has an id and one line of data for each event", async () => {
    const site = await openSite();
    const reader = await site.events();
    await site.join({ tools: [tool("a")] });
    const online = await reader.next();
    expect(online.raw).toMatch(/^id: \S+\ndata: \{.*\}$/);
    const body = JSON.parse(online.raw.split("data: ")[1] ?? "") as Record<string, unknown>;
    expect(Object.keys(body).sort()).toEqual(["at", "data", "device", "id", "type"]);
    expect(body["id"]).toBe(online.id);
    expect(body["at"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(online).toMatchObject({ type: "device.online", device: firstDevice });
    expect((await reader.next()).type).toBe("device.tools_changed");
  });

  it("keeps one line per event whatever a device sends", async () => {
    const site = await openSite();
    const device = await site.join();
    const reader = await site.events("?type=device.notification");
    const text = 'line\nbreak\r\n\ndata: forged\n\nid: 1\u2028 "';
    device.notify(`m${text}`, { text });
    device.notify("last");
    expect((await reader.next()).data).toEqual({ method: `m${text}`, params: { text } });
    expect((await reader.next()).data["method"]).toBe("last");
  });

  it("is filtered by device and by one or several types", async () => {
    const site = await openSite();
    const first = await site.join({ tools: [tool("a")] });
    const second = await site.join({ deviceId: otherDevice });
    const ofFirst = await site.events(`?device=${encodeURIComponent(firstDevice)}`);
    const spelt = await site.events("?device=02-00-00-00-00-01");
    const some = await site.events("?type=device.offline,device.notification");
    second.notify("from-second");
    first.notify("from-first");
    first.cut();
    expect((await ofFirst.next()).data["method"]).toBe("from-first");
    expect((await spelt.next()).data["method"]).toBe("from-first");
    expect((await ofFirst.next()).type).toBe("device.offline");
    const methods = [await some.next(), await some.next(), await some.next()];
    expect(methods.map(({ type, device }) => [type, device])).toEqual(
      expect.arrayContaining([
        ["device.notification", otherDevice],
        ["device.notification", firstDevice],
        ["device.offline", firstDevice],
      ]),
    );
  });

  it("rejects an unknown event type", async () => {
    const site = await openSite();
    const { status, body } = await site.rest("GET", "/events?type=device.online,device.exploded");
    expect([status, body["code"]]).toEqual([400, "bad_request"]);
    expect(body["detail"]).toContain("device.exploded");
  });

  it("[EVT-3] resumes exactly once and in order", async () => {
    const site = await openSite();
    const device = await site.join();
    const first = await site.events("?type=device.notification");
    tick(device, 1, 20);
    expect(await counts(first, 20)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
    const seen = first.seen[6];
    first.close();
    const second = await site.events("?type=device.notification", { "last-event-id": seen?.id ?? "" });
    tick(device, 21, 30);
    expect(await counts(second, 23)).toEqual(Array.from({ length: 23 }, (_, at) => at + 8));
    expect(second.seen.some(({ name }) => name === "reset")).toBe(false);
  });

  it("[EVT-3] resumes while events keep coming, without a gap", async () => {
    const site = await openSite();
    const device = await site.join();
    const first = await site.events("?type=device.notification");
    tick(device, 1, 5);
    await counts(first, 5);
    for (let round = 0; round < 5; round += 1) {
      const last = first.seen[0]?.id ?? "";
      tick(device, 6 + round * 50, 55 + round * 50);
      const next = await site.events("?type=device.notification", { "last-event-id": last });
      const wanted = 4 + (round + 1) * 50;
      expect(await counts(next, wanted)).toEqual(Array.from({ length: wanted }, (_, at) => at + 2));
      next.close();
    }
  });

  it.each(["00000000-1", "garbage", "-", "00000000-99999999"])(
    "[EVT-3] starts with a reset for the foreign id %s, and continues",
    async (id) => {
      const site = await openSite();
      const device = await site.join();
      const reader = await site.events("?type=device.notification", { "last-event-id": id });
      expect(await reader.next()).toMatchObject({ name: "reset", id: undefined });
      device.notify("after");
      expect((await reader.next()).data["method"]).toBe("after");
    },
  );

  it("[EVT-3] starts with a reset for an id of the future", async () => {
    const site = await openSite();
    const device = await site.join();
    const first = await site.events();
    device.notify("x");
    const [run, number] = ((await first.next()).id ?? "").split("-");
    const reader = await site.events("", { "last-event-id": `${run}-${Number(number) + 100}` });
    expect((await reader.next()).name).toBe("reset");
  });

  it("[EVT-3] sends nothing when it resumes from the newest event", async () => {
    const site = await openSite();
    const device = await site.join();
    const first = await site.events("?type=device.notification");
    device.notify("one");
    const { id } = await first.next();
    const second = await site.events("?type=device.notification", { "last-event-id": id ?? "" });
    device.notify("two");
    expect((await second.next()).data["method"]).toBe("two");
  });

  it("[EVT-4] disconnects a reader that falls a megabyte behind, and lets it resume", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = await site.join();
    const slow = await site.events("?type=device.notification");
    const good = await site.events("?type=device.notification");
    device.notify("first");
    await slow.next();
    await good.next();
    slow.response.pause();
    const big = "x".repeat(16_000);
    for (let round = 0; round < 10; round += 1) {
      for (let count = 0; count < 60; count += 1) device.notify("big", { big });
      const wanted = (round + 1) * 60;
      await until(() => good.seen.length >= wanted);
      // The maximum for a device in eight seconds.
      clock.advance(8_000);
    }
    slow.response.resume();
    await slow.ended;
    expect(slow.seen.length).toBeLessThan(good.seen.length);
    const last = slow.seen.at(-1)?.id ?? "";
    const again = await site.events("?type=device.notification", { "last-event-id": last });
    await until(() => slow.seen.length + again.seen.length >= good.seen.length);
    expect([...slow.seen, ...again.seen].map(({ id }) => id)).toEqual(good.seen.map(({ id }) => id));
  });
});

import { describe, expect, it } from "vitest";
import type { EventReader, SeenEvent } from "./event-reader.ts";
import { until } from "./inbox.ts";
import { type RawDevice, textContent, tool } from "./raw-device.ts";
import { RestartingGateway } from "./restarting-gateway.ts";

const one = "02:00:00:00:00:01";
const two = "02:00:00:00:00:02";

function numbers(events: readonly SeenEvent[]): number[] {
  return events.map(({ id = "" }) => Number(id.split("-")[1]));
}

function methods(events: readonly SeenEvent[]): unknown[] {
  return events.filter(({ type }) => type === "device.notification").map(({ data }) => data["method"]);
}

async function last(reader: EventReader, method: string): Promise<SeenEvent> {
  await until(() => methods(reader.seen).includes(method), `the event ${method}`);
  return reader.seen.find(({ data }) => data["method"] === method) as SeenEvent;
}

async function called(gateway: RestartingGateway, device: RawDevice): Promise<void> {
  const answer = gateway.rest("POST", `/devices/${device.id}/tools/a/call`, {});
  device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
  await answer;
}

describe("[EVT-3] events across a restart", () => {
  it("are resumed exactly once and in order, including calls, with increasing ids", async () => {
    const gateway = await RestartingGateway.start();
    const before = await gateway.events();
    const device = await gateway.join(one, { tools: [tool("a")] });
    device.notify("first");
    const seen = await last(before, "first");
    await called(gateway, device);
    device.notify("second");
    await last(before, "second");
    await gateway.restart();
    const again = await gateway.join(one, { tools: [tool("a")] });
    again.notify("third");
    await called(gateway, again);
    const resumed = await gateway.events("", seen.id);
    again.notify("fourth");
    await last(resumed, "fourth");
    expect(resumed.seen.map(({ type, name, data }) => name ?? data["method"] ?? type)).toEqual([
      "call.finished",
      "second",
      "device.offline",
      "audit.recorded",
      "audit.recorded",
      "device.online",
      "third",
      "call.finished",
      "fourth",
    ]);
    const all = [...before.seen.slice(0, before.seen.indexOf(seen) + 1), ...resumed.seen];
    expect(numbers(all)).toEqual([...new Set(numbers(all))].sort((a, b) => a - b));
    // The same events and ids as for readers that stayed connected.
    const [live] = before.seen.filter(({ type }) => type === "call.finished");
    const [kept] = resumed.seen;
    expect(kept).toMatchObject({ id: live?.id, device: one });
    const { queuedMs, durationMs, ...rest } = live?.data ?? {};
    expect(kept?.data).toEqual({
      ...rest,
      queuedMs: Math.round(Number(queuedMs)),
      durationMs: Math.round(Number(durationMs)),
    });
  });

  it("are resumed across several restarts, and filtered by type and device", async () => {
    const gateway = await RestartingGateway.start();
    const reader = await gateway.events();
    let device = await gateway.join(one);
    device.notify("run 1");
    const { id } = await last(reader, "run 1");
    for (const run of [2, 3, 4]) {
      await gateway.restart();
      device = await gateway.join(one);
      const other = await gateway.join(two);
      const watcher = await gateway.events();
      device.notify(`run ${run}`);
      other.notify(`other ${run}`);
      await Promise.all([last(watcher, `run ${run}`), last(watcher, `other ${run}`)]);
    }
    const resumed = await gateway.events(`?type=device.notification&device=${one}`, id);
    await last(resumed, "run 4");
    expect(methods(resumed.seen)).toEqual(["run 2", "run 3", "run 4"]);
  });

  it("of devices outside a token's limit are not resumed", async () => {
    const gateway = await RestartingGateway.start();
    const reader = await gateway.events();
    const limited = await gateway.rest("POST", "/tokens", {
      name: "limited",
      scopes: ["read"],
      devices: { ids: [two] },
    });
    const token = String(limited.body["token"]);
    const first = await gateway.join(one, { tools: [tool("a")] });
    first.notify("start");
    const { id } = await last(reader, "start");
    const second = await gateway.join(two);
    await called(gateway, first);
    first.notify("hidden");
    second.notify("shown");
    await last(reader, "shown");
    await gateway.restart();
    const resumed = await gateway.events("", id, token);
    await last(resumed, "shown");
    const live = await gateway.join(two);
    live.notify("later");
    await last(resumed, "later");
    expect(new Set(resumed.seen.map((event) => event.device))).toEqual(new Set([two]));
    expect(methods(resumed.seen)).toEqual(["shown", "later"]);
  });

  it("too far back start with a reset", async () => {
    const gateway = await RestartingGateway.start();
    const reader = await gateway.events();
    const device = await gateway.join(one);
    device.notify("start");
    const { id = "" } = await last(reader, "start");
    const fleet = await Promise.all(
      Array.from({ length: 11 }, (_, at) => gateway.join(`02:00:00:00:01:${(at + 16).toString(16)}`)),
    );
    // No reader is connected, because one that far behind would be disconnected.
    reader.close();
    for (const one of fleet) for (let count = 0; count < 950; count += 1) one.notify("tick", { count });
    await until(
      async () => (await gateway.metric("tendon_device_notifications_total")) > 11 * 950,
      "all ticks",
    );
    const late = await gateway.events();
    device.notify("near");
    const [stream, number] = ((await last(late, "near")).id ?? "").split("-");
    device.notify("nearer");
    await last(late, "nearer");
    await gateway.restart();
    expect((await (await gateway.events("", id)).next()).name).toBe("reset");
    const near = await gateway.events("?type=device.notification", `${stream}-${number}`);
    expect((await near.next()).data["method"]).toBe("nearer");
    expect((await (await gateway.events("", `ffffffff-${number}`)).next()).name).toBe("reset");
    expect((await (await gateway.events("", `${stream}-${9e15}`)).next()).name).toBe("reset");
  });
});

import { describe, expect, it } from "vitest";
import type { Gap, NewDelivery, Store, StoredWebhook } from "../../src/store/store.ts";
import { Databases, kinds } from "./databases.ts";

const id = "hook";
const position = { recorded: "a-9", recordedAt: 9 };

function webhook(): StoredWebhook {
  return {
    id,
    name: "hook",
    url: "https://hooks.example/",
    types: ["*"],
    devices: { ids: [], tags: ["lab"] },
    enabled: true,
    disabledReason: undefined,
    createdAt: 1,
    createdBy: "admin",
    secret: "sealed",
    oldSecret: undefined,
    oldSecretUntil: undefined,
    recorded: "a-0",
    recordedAt: 1,
    owner: undefined,
    epoch: 0,
    ...noFailures,
  };
}

const noFailures = {
  failures: 0,
  failingSince: undefined,
  nextAttemptAt: undefined,
  deliveredAt: undefined,
  failedAt: undefined,
  failedStatus: undefined,
  failedError: undefined,
};

function delivery(number: number, device?: string): NewDelivery {
  return { id: `msg_${number}`, type: "device.online", at: number * 10, device, body: "{}" };
}

function gapOf({ from, to, count }: Gap): string {
  return JSON.stringify({
    data: { from: new Date(from).toISOString(), to: new Date(to).toISOString(), count },
  });
}

/** A webhook that this test owns, with these events. */
async function owned(store: Store, ...deliveries: NewDelivery[]) {
  await store.webhooks.add(webhook());
  const epoch = (await store.webhooks.leases.claim(id, { owner: undefined, epoch: 0 }, "here")) ?? 0;
  expect(await store.webhookDeliveries.record({ id, epoch }, position, deliveries)).toBe(true);
  return { id, epoch };
}

async function idsOf(store: Store, without: string[] = []): Promise<string[]> {
  return (await store.webhookDeliveries.pending(id, 100, without)).map((each) => each.id);
}

async function finish(store: Store, claim: { id: string; epoch: number }, count: number): Promise<boolean> {
  const pending = await store.webhookDeliveries.pending(id, count, []);
  const attempts = pending.map(({ seq }) => ({
    seq,
    delivered: true,
    attempts: 1,
    attemptedAt: 5,
    status: 200,
    error: undefined,
    durationMs: 3,
  }));
  return await store.webhookDeliveries.finish(claim, { ...noFailures, deliveredAt: 5 }, attempts);
}

describe.each(kinds)("webhooks in %s", (kind) => {
  const databases = new Databases(kind);

  it("are kept with their position, and are owned by one node at a time", async () => {
    const { store } = await databases.open();
    const claim = await owned(store, delivery(1));
    expect(await store.webhooks.get(id)).toEqual({ ...webhook(), ...position, owner: "here", epoch: 1 });
    expect(await store.webhooks.leases.claim(id, { owner: undefined, epoch: 0 }, "there")).toBeUndefined();
    expect(await store.webhooks.leases.claim(id, { owner: "here", epoch: 1 }, "there")).toBe(2);
    // The writes of the former owner are rejected as a whole.
    expect(await store.webhookDeliveries.record(claim, position, [delivery(2)])).toBe(false);
    expect(await finish(store, claim, 1)).toBe(false);
    expect(await store.webhooks.disable(id, claim.epoch, "gone")).toBe(false);
    expect(await idsOf(store)).toEqual(["msg_1"]);
    await store.webhooks.remove(id);
    expect(await store.webhooks.all()).toEqual([]);
    expect(await idsOf(store)).toEqual([]);
  });

  it("deliver in order, leave out devices, and are replayed", async () => {
    const { store } = await databases.open();
    const many = Array.from({ length: 300 }, (_, index) => delivery(index, ["a", "b", undefined][index % 3]));
    const claim = await owned(store, ...many);
    expect(await idsOf(store)).toEqual(many.slice(0, 100).map((each) => each.id));
    expect((await idsOf(store, ["a", ""])).slice(0, 2)).toEqual(["msg_1", "msg_4"]);
    expect(await finish(store, claim, 10)).toBe(true);
    expect((await idsOf(store))[0]).toBe("msg_10");
    expect(await store.webhookDeliveries.countPending(id)).toBe(290);
    const [newest] = await store.webhookDeliveries.list(id, { state: "delivered", limit: 1 });
    expect(newest).toMatchObject({ id: "msg_9", state: "delivered", status: 200, durationMs: 3 });
    expect(await store.webhookDeliveries.replay(id, 50)).toBe(5);
    expect((await idsOf(store))[0]).toBe("msg_5");
  });

  it("replace the oldest events by one gap, also twice", async () => {
    const { store } = await databases.open();
    await owned(store, ...Array.from({ length: 10 }, (_, index) => delivery(index + 1)));
    const made = (number: number) => ({ id: `gap_${number}`, at: 1_000, bodyOf: gapOf });
    const { webhookDeliveries: deliveries } = store;
    expect(await deliveries.drop(id, { olderThan: 0, keep: 10 }, made(0))).toBeUndefined();
    expect(await deliveries.drop(id, { olderThan: 35, keep: 10 }, made(1))).toEqual({
      from: 10,
      to: 30,
      count: 3,
    });
    expect((await idsOf(store)).slice(0, 2)).toEqual(["gap_1", "msg_4"]);
    expect(await deliveries.drop(id, { olderThan: 0, keep: 4 }, made(2))).toEqual({
      from: 40,
      to: 70,
      count: 4,
    });
    expect(await idsOf(store)).toEqual(["gap_2", "msg_8", "msg_9", "msg_10"]);
    const [gap] = await deliveries.pending(id, 1, []);
    expect(gap?.body).toBe(gapOf({ from: 10, to: 70, count: 7 }));
  });

  it("keep delivered events for a replay within bounds, and forget those of a device", async () => {
    const { store } = await databases.open();
    const claim = await owned(store, ...Array.from({ length: 20 }, (_, index) => delivery(index, "a")));
    await finish(store, claim, 18);
    expect(await store.webhookDeliveries.prune(50, 100, 1_000)).toBe(5);
    expect(await store.webhookDeliveries.prune(0, 6, 1_000)).toBe(7);
    const left = await store.webhookDeliveries.list(id, { limit: 100 });
    expect(left.map((each) => each.id).reverse()).toEqual(
      Array.from({ length: 8 }, (_, index) => `msg_${index + 12}`),
    );
    await store.webhookDeliveries.removeOf("a");
    expect(await store.webhookDeliveries.list(id, { limit: 100 })).toEqual([]);
  });
});

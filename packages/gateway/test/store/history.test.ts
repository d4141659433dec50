import { describe, expect, it } from "vitest";
import { until } from "../../../../test/inbox.ts";
import { Databases, kinds } from "./databases.ts";
import { call, deviceId } from "./samples.ts";

const day = 24 * 60 * 60_000;

describe.each(kinds)("the call history in %s", (kind) => {
  const databases = new Databases(kind);

  it("is accepted at once, written within 100 ms, and not lost in a clean stop", async () => {
    const { store, clock, place } = await databases.open();
    const full = call(1, {
      arguments: { text: "a\u0000b 🦾" },
      approval: "approval-1",
      node: "n1",
      asker: { serialNumber: "a\u0000b" },
    });
    store.calls.append(full);
    store.calls.append(call(2));
    expect(store.state.waitingRows).toBe(2);
    clock.advance(100);
    expect(store.state.waitingRows).toBe(0);
    await store.flush();
    expect(await databases.query(place, "select id from tendon_calls")).toHaveLength(2);
    store.calls.append(call(3));
    await store.close();
    const again = (await databases.open(place)).store;
    expect((await again.calls.query({})).calls).toEqual([call(3), call(2), full]);
  });

  it("includes rows that are not written yet", async () => {
    const { store } = await databases.open();
    store.calls.append(call(1));
    expect(await store.calls.query({})).toEqual({ calls: [call(1)], nextCursor: undefined });
  });

  it("is filtered by device, tool, principal, outcome, time and visible devices", async () => {
    const { store } = await databases.open();
    for (let number = 0; number < 60; number += 1) {
      store.calls.append(
        call(number, {
          tool: `t${number % 2}`,
          principal: `p${number % 5}`,
          outcome: number % 10 === 0 ? "device_timeout" : "ok",
        }),
      );
    }
    const numbers = async (query: object) =>
      (await store.calls.query(query)).calls.map(({ id }) => Number(id.slice(5)));
    expect(await numbers({ device: deviceId(1), limit: 3 })).toEqual([58, 55, 52]);
    expect(await numbers({ tool: "t1", principal: "p3" })).toEqual([53, 43, 33, 23, 13, 3]);
    expect(await numbers({ outcome: "device_timeout", since: call(30).at })).toEqual([50, 40, 30]);
    expect(await numbers({ outcome: "device_timeout", device: deviceId(0) })).toEqual([30, 0]);
    expect(await numbers({ visible: (id: string) => id === deviceId(2), limit: 2 })).toEqual([59, 56]);
    expect(await numbers({ tool: "nothing" })).toEqual([]);
    await expect(store.calls.query({ cursor: "nonsense" })).rejects.toMatchObject({ code: "bad_request" });
  });

  it("returns calls of a time span, newest first, with the stopping point", async () => {
    const { store } = await databases.open();
    for (let number = 0; number < 30; number += 1)
      store.calls.append(call(number, { at: 1_000 + (number >> 1) }));
    await store.flush();
    const read = async (limit: number) => {
      const times: number[] = [];
      const from = await store.calls.finishedIn({ since: 1_002, before: 1_010, limit }, ({ at }) =>
        times.push(at),
      );
      return { from, first: times[0], count: times.length };
    };
    expect(await read(100)).toEqual({ from: 1_002, first: 1_009, count: 16 });
    expect(await read(5)).toEqual({ from: 1_007, first: 1_009, count: 5 });
  });

  it("is read in pages that new rows do not affect", async () => {
    const { store } = await databases.open();
    for (let number = 0; number < 95; number += 1)
      store.calls.append(call(number, { at: 1_000 + (number >> 2) }));
    const seen: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await store.calls.query({ cursor, limit: 10 });
      seen.push(...page.calls.map(({ id }) => id));
      cursor = page.nextCursor;
      pages += 1;
      store.calls.append(call(1_000 + pages, { at: 5_000 }));
    } while (cursor !== undefined);
    expect(pages).toBe(10);
    expect(seen).toEqual(Array.from({ length: 95 }, (_, number) => call(94 - number).id));
  });

  it("finds a rare outcome in bounded steps, page by page", async () => {
    const { store } = await databases.open();
    for (let number = 0; number < 9_000; number += 1)
      store.calls.append(call(number, { outcome: number % 4_000 === 0 ? "device_error" : "ok" }));
    const first = await store.calls.query({ outcome: "device_error", limit: 2 });
    expect(first.calls.map(({ id }) => id)).toEqual([call(8_000).id, call(4_000).id]);
    const second = await store.calls.query({ outcome: "device_error", limit: 2, cursor: first.nextCursor });
    expect(second).toMatchObject({ calls: [{ id: call(0).id }], nextCursor: undefined });
    const hidden = await store.calls.query({ visible: () => false });
    expect(hidden).toEqual({ calls: [], nextCursor: undefined });
  });

  it("has the calls of one device in pages, across a restart and among many others", async () => {
    const { store, place } = await databases.open();
    const mine = (number: number) =>
      call(number, { device: number % 3 === 0 ? "mine" : `other-${number % 7}` });
    for (let number = 0; number < 6_000; number += 1) store.calls.append(mine(number));
    await store.close();
    const again = (await databases.open(place)).store;
    for (let number = 6_000; number < 9_000; number += 1) again.calls.append(mine(number));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await again.calls.query({ device: "mine", cursor, limit: 700 });
      seen.push(...page.calls.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(Array.from({ length: 3_000 }, (_, number) => call(8_997 - number * 3).id));
    expect((await again.calls.query({ device: "unknown" })).calls).toEqual([]);
    const first = await again.calls.query({ device: "mine", outcome: "ok", tool: mine(0).tool, limit: 1 });
    expect(first.calls).toEqual([mine(8_997)]);
    const none = { calls: [], nextCursor: undefined };
    expect(await again.calls.query({ device: "mine", principal: "unknown" })).toEqual(none);
    expect(await again.calls.query({ device: "mine", since: call(9_000).at })).toEqual(none);
  });

  it("has the calls of every device of a large fleet, before and after a restart", async () => {
    const devices = 1_300;
    const { store, place } = await databases.open();
    for (let number = 0; number < 16_000; number += 1)
      store.calls.append(call(number, { device: deviceId(number % devices) }));
    const expected = (device: number) =>
      Array.from({ length: 13 }, (_, turn) => device + turn * devices)
        .filter((number) => number < 16_000)
        .map((number) => call(number).id)
        .reverse();
    const found = async ({ calls }: typeof store, device: number) =>
      (await calls.query({ device: deviceId(device) })).calls.map(({ id }) => id);
    for (const device of [0, 1, 399, 400, 1_299])
      expect(await found(store, device)).toEqual(expected(device));
    await store.close();
    const again = (await databases.open(place)).store;
    for (const device of [0, 1, 399, 400, 1_299])
      expect(await found(again, device)).toEqual(expected(device));
    again.calls.append(call(20_000, { device: deviceId(7) }));
    expect(await found(again, 7)).toEqual([call(20_000).id, ...expected(7)]);
  });

  it("continues from a cursor of another list", async () => {
    const { store } = await databases.open();
    for (let number = 0; number < 9; number += 1) store.calls.append(call(number));
    const { nextCursor } = await store.calls.query({ limit: 4 });
    const { calls } = await store.calls.query({ device: deviceId(0), cursor: nextCursor });
    expect(calls).toEqual([call(3), call(0)]);
  });

  it("has the remaining calls of a device after others, also newer ones, were removed", async () => {
    const { store, clock } = await databases.open({ retention: { callsForMs: day } });
    const now = clock.now();
    // The clock was wrong for rows 2 and 5.
    for (let number = 0; number < 6; number += 1)
      store.calls.append(call(number, { device: "d", at: number % 3 === 2 ? 1_000 : now + number }));
    store.calls.append(call(6, { device: "other", at: 1_000 }));
    await store.flush();
    expect(await store.pruneOld()).toBe(3);
    const numbers = async (device: string) =>
      (await store.calls.query({ device })).calls.map(({ id }) => Number(id.slice(5)));
    expect(await numbers("d")).toEqual([4, 3, 1, 0]);
    expect(await numbers("other")).toEqual([]);
    store.calls.append(call(7, { device: "d", at: now + 7 }));
    store.calls.append(call(8, { device: "other", at: now + 8 }));
    expect(await numbers("d")).toEqual([7, 4, 3, 1, 0]);
    expect(await numbers("other")).toEqual([8]);
    clock.advance(2 * day);
    // The clock has already started its own first step.
    await store.pruneOld();
    while ((await store.pruneOld()) > 0);
    expect(await numbers("d")).toEqual([]);
    store.calls.append(call(9, { device: "other", at: clock.now() }));
    store.calls.append(call(10, { device: "d", at: clock.now() }));
    expect(await numbers("d")).toEqual([10]);
  });

  it("is removed by age and count, in small steps, by the clock", async () => {
    const { store, clock, place } = await databases.open({ retention: { callsForMs: day, calls: 2_500 } });
    const now = clock.now();
    for (let number = 0; number < 1_500; number += 1)
      store.calls.append(call(number, { at: now - 2 * day + number }));
    for (let number = 1_500; number < 5_000; number += 1)
      store.calls.append(call(number, { at: now + number }));
    await store.flush();
    const left = async () => (await databases.query(place, "select seq from tendon_calls")).length;
    expect(await left()).toBe(5_000);
    expect(await store.pruneOld()).toBe(1_500);
    expect(await store.pruneOld()).toBe(1_000);
    expect(await left()).toBe(2_500);
    expect(await store.pruneOld()).toBe(0);
    expect((await store.calls.query({})).calls[0]?.id).toBe(call(4_999).id);
    clock.advance(2 * day);
    // The clock has already started its own first step.
    await store.pruneOld();
    while ((await store.pruneOld()) > 0);
    expect(await left()).toBe(0);
    store.calls.append(call(6_000, { at: clock.now() }));
    expect((await store.calls.query({})).calls).toHaveLength(1);
  });

  it("is removed automatically, repeatedly while there is more", async () => {
    const { store, clock, place } = await databases.open({ retention: { calls: 500 } });
    for (let number = 0; number < 3_000; number += 1) store.calls.append(call(number, { at: clock.now() }));
    await store.flush();
    const left = async () => (await databases.query(place, "select seq from tendon_calls")).length;
    clock.advance(10_000);
    await until(async () => (await left()) === 2_000, "the first step");
    // The step ends after its last row, and only then schedules the next.
    await until(async () => {
      clock.advance(100);
      return (await left()) === 500;
    }, "the others");
  });

  it("drops only a row that the database rejects", async () => {
    const { store, problems } = await databases.open();
    for (let number = 0; number < 20; number += 1)
      store.calls.append(call(number, number === 7 ? { durationMs: Number.NaN } : {}));
    expect((await store.calls.query({})).calls).toHaveLength(19);
    expect(problems).toEqual([
      { kind: "failed", what: "call history", detail: expect.any(String) },
      { kind: "lost", what: "call history", count: 1, total: 1 },
    ]);
    expect(store.state.lostRows).toBe(1);
    const { calls } = await store.calls.query({ device: deviceId(1) });
    expect(calls.map(({ id }) => Number(id.slice(5)))).toEqual([19, 16, 13, 10, 4, 1]);
  });

  it("logs rows that arrive after the end", async () => {
    const { store, problems } = await databases.open();
    await store.close();
    store.calls.append(call(1));
    expect(problems).toEqual([{ kind: "lost", what: "call history", count: 1, total: 1 }]);
  });
});

describe("the call history after a connection broke in mid-commit", () => {
  const databases = new Databases("postgres");

  it("keeps a repeated row once", async () => {
    const { store } = await databases.open();
    store.calls.append(call(1));
    await store.flush();
    store.calls.append(call(1));
    expect((await store.calls.query({})).calls).toEqual([call(1)]);
  });
});

import { describe, expect, it } from "vitest";
import { Databases, kinds } from "./databases.ts";
import { call, event } from "./samples.ts";

const day = 24 * 60 * 60_000;

describe.each(kinds)("events in %s", (kind) => {
  const databases = new Databases(kind);

  it("get unique numbers per node, also after a restart", async () => {
    const { store, place } = await databases.open();
    const [one, two] = await Promise.all([store.events.reserve("n1", 100), store.events.reserve("n1", 100)]);
    expect([one.first, two.first].sort((a, b) => a - b)).toEqual([1, 101]);
    expect(one.stream).toMatch(/^[0-9a-f]{8}$/);
    expect(two.stream).toBe(one.stream);
    const other = await store.events.reserve("n2", 5);
    expect(other.first).toBe(1);
    expect(other.stream).not.toBe(one.stream);
    await store.close();
    const again = (await databases.open(place)).store;
    expect(await again.events.reserve("n1", 7)).toEqual({ stream: one.stream, first: 201 });
    expect(await again.events.reserve("n1", 7)).toEqual({ stream: one.stream, first: 208 });
  });

  it("are found between two numbers, in order per stream, also after a restart", async () => {
    const { store, place } = await databases.open();
    expect(await store.events.between("one", 0, 100, 10)).toEqual([]);
    for (let sequence = 1; sequence <= 30; sequence += 1) store.events.append(event(sequence));
    store.events.append(event(1, { stream: "two", device: undefined, data: undefined }));
    expect(await store.events.between("one", 27, 100, 10)).toEqual([event(28), event(29), event(30)]);
    expect(await store.events.between("one", 0, 100, 2)).toEqual([event(1), event(2)]);
    expect(await store.events.between("one", 5, 8, 10)).toEqual([event(6), event(7)]);
    await store.close();
    const again = (await databases.open(place)).store;
    expect(await again.events.between("two", 0, 100, 10)).toEqual([
      event(1, { stream: "two", device: undefined, data: null }),
    ]);
  });

  it("are limited by count, in small steps, despite gaps; the removed range is known", async () => {
    const { store } = await databases.open({ retention: { events: 100, eventsForMs: 1_000 * day } });
    const { stream } = await store.events.reserve("n1", 10);
    expect(await store.events.forgotten(stream)).toBe(0);
    const numbers = Array.from({ length: 1_600 }, (_, at) => (at < 1_000 ? at + 1 : at + 1_000_001));
    for (const sequence of numbers) store.events.append(event(sequence, { stream }));
    await store.flush();
    expect(await store.pruneOld()).toBe(1_000);
    expect(await store.events.forgotten(stream)).toBe(1_000);
    expect(await store.pruneOld()).toBe(500);
    expect(await store.pruneOld()).toBe(0);
    expect(await store.events.forgotten(stream)).toBe(1_001_500);
    expect(await store.events.between(stream, 0, 2_000_000, 1_000)).toHaveLength(100);
    expect(await store.events.forgotten("no stream")).toBeUndefined();
  });

  it("are removed by age", async () => {
    const { store, clock } = await databases.open({ retention: { eventsForMs: day } });
    const { stream } = await store.events.reserve("n1", 10);
    store.events.append(event(1, { stream, at: clock.now() - 2 * day }));
    store.events.append(event(2, { stream, at: clock.now() }));
    await store.flush();
    expect(await store.pruneOld()).toBe(1);
    expect(await store.events.forgotten(stream)).toBe(1);
    expect(await store.events.between(stream, 0, 10, 10)).toMatchObject([{ sequence: 2 }]);
  });

  it("of calls come from the history; removed ones are known too", async () => {
    const { store, clock } = await databases.open({ retention: { calls: 5, callsForMs: 1_000 * day } });
    const { stream } = await store.events.reserve("n1", 10);
    for (let number = 1; number <= 20; number += 1) {
      const at = clock.now() + number;
      store.calls.append(call(number, { at, node: number % 2 === 0 ? "n1" : "n2", event: 1_000 + number }));
    }
    store.calls.append(call(21, { at: clock.now() + 21 }));
    await store.flush();
    const found = async (...range: [number, number, number]) =>
      (await store.calls.eventsBetween("n1", ...range))?.map((one) => one.event);
    expect(await found(1_004, 1_013, 10)).toEqual([1_012, 1_010, 1_008, 1_006]);
    expect(await found(0, 2_000, 9)).toBeUndefined();
    expect(await found(0, 2_000, 10)).toHaveLength(10);
    expect(await store.pruneOld()).toBe(16);
    expect(await store.events.forgotten(stream)).toBe(1_016);
    expect(await found(1_016, 2_000, 10)).toEqual([1_020, 1_018]);
  });
});

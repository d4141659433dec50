import { describe, expect, it } from "vitest";
import type { ImportFilter, Store } from "../../src/store/store.ts";
import { Databases, kinds } from "./databases.ts";
import { device, deviceId } from "./samples.ts";

const many = 30_000;

function row(number: number, tags: readonly string[] = [], serial?: string, sealedKey?: string) {
  return { device: deviceId(number), serial, sealedKey, tags };
}

async function found(store: Store, filter: ImportFilter): Promise<string[]> {
  const { imports } = await store.imports.page(filter, 100);
  expect(await store.imports.count(filter)).toBe(imports.length);
  return imports.map(({ device: id }) => id);
}

describe.each(kinds)("the list of imported devices in %s", (kind) => {
  const databases = new Databases(kind);

  it("says which have connected and which have a key, never the key", async () => {
    const { store } = await databases.open();
    await store.imports.add([row(1, ["fleet"], "SN1", "sealed"), row(2), row(3)], undefined, 77);
    await store.devices.save(device(2, { lastSeenAt: 5 }));
    await store.devices.save(device(3, { alias: "three" }));
    const page = await store.imports.page({}, 10);
    const first = { device: deviceId(1), serial: "SN1", hasKey: true, tags: ["fleet"], importedAt: 77 };
    const rest = { serial: undefined, hasKey: false, tags: [], importedAt: 77 };
    expect(page).toEqual({
      imports: [
        { ...first, lastSeenAt: undefined },
        { ...rest, device: deviceId(2), lastSeenAt: 5 },
        { ...rest, device: deviceId(3), lastSeenAt: undefined },
      ],
      next: undefined,
    });
    expect(await found(store, { connected: true })).toEqual([deviceId(2)]);
    expect(await found(store, { connected: false })).toEqual([deviceId(1), deviceId(3)]);
  });

  it("is filtered by text, tag, time and the devices of a token", async () => {
    const { store } = await databases.open();
    await store.imports.add([row(1, ["line-7"], "SN_A%1"), row(2, ["Line-7", "line-70"])], undefined, 1);
    await store.imports.add([row(3, ["line-7"]), row(4)], undefined, 2);
    await store.devices.save(device(3, { tags: ["sold"] }));
    const [one, two, three, four] = [1, 2, 3, 4].map(deviceId);
    expect(await found(store, { tag: "line-7" })).toEqual([one, three]);
    expect(await found(store, { tag: "line" })).toEqual([]);
    expect(await found(store, { texts: ["line"] })).toEqual([one, two, three]);
    expect(await found(store, { texts: ["sn_a%"] })).toEqual([one]);
    expect(await found(store, { texts: ["s_"] })).toEqual([]);
    expect(await found(store, { texts: ['"'] })).toEqual([]);
    expect(await found(store, { texts: ["no", "00:04"] })).toEqual([four]);
    expect(await found(store, { importedAt: 2 })).toEqual([three, four]);
    expect(await found(store, { only: { ids: [], tags: ["line-7"] } })).toEqual([one]);
    expect(await found(store, { only: { ids: [deviceId(4)], tags: ["sold"] } })).toEqual([three, four]);
    expect(await found(store, { only: { ids: [], tags: [] } })).toEqual([]);
  });

  it(`reads ${many} rows page by page, with bounded work for each, leaving room for others`, async () => {
    const { store } = await databases.open();
    await store.imports.add(Array.from({ length: many }, (_, number) => row(number)));
    const ids: string[] = [];
    let [pages, after]: [number, string | undefined] = [0, ""];
    for (; after !== undefined; pages += 1) {
      const page = await store.imports.page({}, 1_000, after);
      ids.push(...page.imports.map(({ device: id }) => id));
      after = page.next;
    }
    expect([pages, ids.length, new Set(ids).size]).toEqual([many / 1_000, many, many]);
    const last: ImportFilter = { texts: [deviceId(many - 1)] };
    const first = await store.imports.page(last, 10);
    expect(first.imports).toEqual([]);
    expect(first.next).toBe(deviceId(19_999));
    expect((await store.imports.page(last, 10, first.next)).imports).toHaveLength(1);
    let others = 0;
    const timer = setInterval(() => {
      others += 1;
    }, 0);
    expect(await store.imports.count(last)).toBe(1);
    clearInterval(timer);
    expect(others).toBeGreaterThan(0);
  }, 60_000);
});

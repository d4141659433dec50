import { describe, expect, it } from "vitest";
import type { FirmwareImage, ImportedDevice, StoredToken } from "../../src/store/store.ts";
import { Databases, kinds } from "./databases.ts";
import { device, deviceId, token } from "./samples.ts";

/** Many batches of an import, and many pages of a list. */
const many = 20_000;

function image(number: number, more: Partial<FirmwareImage> = {}): FirmwareImage {
  return {
    id: `image-${number}`,
    board: "bread-compact-wifi",
    version: `1.${number}.0`,
    file: `firmware/${number}.bin`,
    size: 4_000_000_000,
    sha256: "f".repeat(64),
    share: 10,
    tags: [],
    chip: "esp32s3",
    project: "xiaozhi",
    force: false,
    state: "offered",
    haltedReason: undefined,
    addedAt: number,
    ...more,
  };
}

function imported(number: number, more: Partial<ImportedDevice> = {}): ImportedDevice {
  return { device: deviceId(number), serial: `SN${number}`, sealedKey: "sealed", tags: ["fleet"], ...more };
}

describe.each(kinds)("records in %s", (kind) => {
  const databases = new Databases(kind);

  it("of tokens: one live token has a name, also if several are created at once", async () => {
    const first = await databases.open();
    const second = kind === "postgres" ? await databases.open(first.place) : first;
    const named = (number: number, more: Partial<StoredToken> = {}) =>
      token(number, { name: "mcp", ...more });
    const made = await Promise.all(
      [1, 2, 3, 4, 5, 6, 7, 8].map((number) =>
        (number % 2 === 0 ? first : second).store.tokens.create(named(number)),
      ),
    );
    expect(made.filter(Boolean)).toHaveLength(1);
    const { store } = first;
    const [only] = await store.tokens.all();
    expect(await store.tokens.create(named(9))).toBe(false);
    await store.tokens.revoke(only?.id ?? "", 5);
    const expiresAt = token(11).createdAt;
    expect(await store.tokens.create(named(10, { expiresAt }))).toBe(true);
    expect(await store.tokens.create(named(11))).toBe(true);
    expect(await store.tokens.create(named(12))).toBe(false);
  });

  it("of tokens: found by hash, revoked once, last use written later", async () => {
    const { store, clock, place } = await databases.open();
    const limited = token(2, {
      devices: { ids: [deviceId(1)], tags: ["kitchen"] },
      expiresAt: 9,
      scopes: [],
    });
    expect([await store.tokens.create(token(1)), await store.tokens.create(limited)]).toEqual([true, true]);
    await expect(store.tokens.create(token(1, { name: "another" }))).rejects.toMatchObject({
      fault: "refused",
    });
    await expect(store.tokens.create(token(3, { hash: limited.hash }))).rejects.toMatchObject({
      fault: "refused",
    });
    expect(await store.tokens.get("unknown")).toBeUndefined();
    expect([await store.tokens.revoke("token-1", 77), await store.tokens.revoke("token-1", 78)]).toEqual([
      true,
      false,
    ]);
    store.presence.tokenUsed("token-2", 5, "192.0.2.7");
    store.presence.tokenUsed("token-2", 6);
    store.presence.tokenUsed("unknown", 6);
    clock.advance(1_000);
    await store.close();
    const again = (await databases.open(place)).store;
    expect(await again.tokens.all()).toEqual([
      token(1, { revokedAt: 77 }),
      { ...limited, lastUsedAt: 6, lastUsedFrom: "192.0.2.7" },
    ]);
    expect(await again.tokens.get("token-1")).toEqual(token(1, { revokedAt: 77 }));
  });

  it("of idempotency: a claim has one holder at a time, also while claims are released", async () => {
    const first = await databases.open();
    const second = kind === "postgres" ? await databases.open(first.place) : first;
    let [holders, most, won] = [0, 0, 0];
    const contender = async (number: number) => {
      const { idempotencyRecords } = (number % 2 === 0 ? first : second).store;
      for (let round = 0; round < 40; round += 1) {
        const run = `run/${number}-${round}`;
        const claim = { digest: "d", run, expiresAt: Number.MAX_SAFE_INTEGER };
        if ((await idempotencyRecords.claim("p", "key", claim)) !== undefined) continue;
        holders += 1;
        won += 1;
        most = Math.max(most, holders);
        // A release of another claim has no effect.
        await idempotencyRecords.release("p", "key", "run/other");
        holders -= 1;
        await idempotencyRecords.release("p", "key", run);
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, number) => contender(number)));
    expect(won).toBeGreaterThan(10);
    expect(most).toBe(1);
  });

  it("of settings: the first writer decides", async () => {
    const { store, place } = await databases.open();
    const other = (await databases.open(place)).store;
    expect(await store.settings.get("key")).toBeUndefined();
    const made = await Promise.all(
      [store, other, store, other].map((one, number) => one.settings.getOrMake("key", () => ({ number }))),
    );
    expect(new Set(made.map((value) => JSON.stringify(value))).size).toBe(1);
    await other.settings.set("key", ["new"]);
    expect(await store.settings.getOrMake("key", () => "late")).toEqual(["new"]);
    await store.settings.remove("key");
    expect(await store.settings.getOrMake("key", () => null)).toBeNull();
    for (const key of ["of-a/1", "of-a/2", "of-b/3", "OF-A/4", "of_a/5"]) await store.settings.set(key, key);
    const found = await other.settings.startingWith("of-a/");
    expect([...found].sort()).toEqual([
      ["1", "of-a/1"],
      ["2", "of-a/2"],
    ]);
    await expect(store.settings.set("key", undefined)).rejects.toMatchObject({ fault: "refused" });
  });

  it("of firmware: one image per board and version", async () => {
    const { store } = await databases.open();
    expect(await store.firmware.add(image(1))).toBe(true);
    expect(await store.firmware.add(image(2))).toBe(true);
    expect(await store.firmware.add(image(3, { version: "1.1.0" }))).toBe(false);
    expect(await store.firmware.change("image-1", { share: 100, tags: ["lab"] })).toBe(true);
    expect(await store.firmware.change("image-1", { state: "halted" })).toBe(true);
    expect(await store.firmware.change("image-9", { share: 1 })).toBe(false);
    expect(await store.firmware.change("image-1", {})).toBe(false);
    expect(await store.firmware.all()).toEqual([
      image(2),
      image(1, { share: 100, tags: ["lab"], state: "halted" }),
    ]);
    expect([await store.firmware.remove("image-1"), await store.firmware.remove("image-1")]).toEqual([
      true,
      false,
    ]);
  });

  it("of firmware: the first halt sets the reason; offering it again clears it", async () => {
    const { store, place } = await databases.open();
    const other = (await databases.open(place)).store;
    await store.firmware.add(image(1, { force: true }));
    const halted = await Promise.all([store, other].map((one) => one.firmware.halt("image-1", "3 of 3")));
    expect(halted.sort()).toEqual([false, true]);
    expect(await other.firmware.get("image-1")).toEqual(
      image(1, { force: true, state: "halted", haltedReason: "3 of 3" }),
    );
    await store.firmware.change("image-1", { state: "offered" });
    expect(await store.firmware.get("image-1")).toEqual(image(1, { force: true }));
    expect(await store.firmware.get("image-9")).toBeUndefined();
  });

  it("of updates: offers are counted, transitions happen once, overdue ones are found", async () => {
    const { store, clock } = await databases.open();
    const updates = store.firmwareUpdates;
    const one = { image: "image-1", device: deviceId(1) };
    await updates.offered("image-1", deviceId(1));
    await updates.offered("image-1", deviceId(1));
    await updates.withdrawOffer("image-1", deviceId(1));
    await updates.offered("image-1", deviceId(2));
    await updates.offered("image-2", deviceId(1));
    expect(await updates.get("image-1", deviceId(1))).toMatchObject({ state: "offered", offers: 1 });
    expect((await updates.ofDevice(deviceId(1))).length).toBe(2);
    expect((await updates.devicesInProgress()).sort()).toEqual([deviceId(1), deviceId(2)]);
    const fetched = { state: "fetched", dueAt: clock.now() + 10 } as const;
    expect(await updates.move(one, ["offered"], fetched)).toBe(true);
    expect(await updates.move(one, ["offered"], fetched)).toBe(false);
    expect(await updates.overdue(10)).toEqual([]);
    clock.advance(10);
    expect(await updates.overdue(10)).toMatchObject([{ ...one, state: "fetched" }]);
    expect(await updates.move(one, ["fetched"], { state: "failed", reason: "gone" })).toBe(true);
    expect(await updates.overdue(10)).toEqual([]);
    expect(await updates.failures("image-1", 10)).toMatchObject([{ ...one, reason: "gone" }]);
    const counts = { offered: 1, fetched: 0, started: 0, updated: 0, failed: 1, excused: 0 };
    expect((await updates.counts()).get("image-1")).toEqual(counts);
    expect([...(await updates.counts("image-1")).keys()]).toEqual(["image-1"]);
    await updates.excuse("image-1", false);
    expect((await updates.counts()).get("image-1")).toEqual({ ...counts, failed: 0, excused: 1 });
    await updates.excuse("image-1", true);
    expect((await updates.counts()).get("image-1")).toEqual({ ...counts, offered: 2, failed: 0 });
    expect(await updates.get("image-1", deviceId(1))).toMatchObject({ state: "offered", offers: 0 });
    await updates.removeImage("image-1");
    expect((await updates.counts()).get("image-1")).toBeUndefined();
    await store.devices.remove(deviceId(1));
    expect(await updates.ofDevice(deviceId(1))).toEqual([]);
  });

  it("of imported devices: the later row counts", async () => {
    const { store } = await databases.open();
    expect(
      await store.imports.add([imported(1), imported(2), imported(1, { serial: "SN2", tags: [] })]),
    ).toBe(3);
    expect(await store.imports.count()).toBe(2);
    expect(await store.imports.get(deviceId(1))).toEqual(imported(1, { serial: "SN2", tags: [] }));
    expect(await store.imports.add([imported(1, { serial: undefined, sealedKey: undefined })])).toBe(1);
    expect([await store.imports.remove(deviceId(2)), await store.imports.remove(deviceId(2))]).toEqual([
      true,
      false,
    ]);
    expect(await store.imports.add([])).toBe(0);
    await expect(store.imports.add([imported(3, { device: "a\u0000" })])).rejects.toMatchObject({
      fault: "refused",
    });
  });

  it(`of ${many} imported devices, with progress, leaving room for others`, async () => {
    const { store } = await databases.open();
    const progress: number[] = [];
    async function* rows() {
      for (let number = 0; number < many; number += 1) yield imported(number);
    }
    let others = 0;
    const timer = setInterval(() => {
      others += 1;
    }, 1);
    expect(await store.imports.add(rows(), (done) => progress.push(done))).toBe(many);
    clearInterval(timer);
    expect(others).toBeGreaterThan(10);
    expect(progress.at(-1)).toBe(many);
    expect(progress.length).toBe(many / 1_000);
    expect(await store.imports.count()).toBe(many);
  }, 120_000);

  it(`of ${many} devices, read at the start`, async () => {
    const { store, place } = await databases.open();
    await store.devices.save(device(0, { id: "first", alias: "first" }));
    const others = `with recursive row(i) as (select 1 union all select i + 1 from row where i < ${many - 1})`;
    const columns = Object.keys((await databases.query(place, "select * from tendon_devices"))[0] ?? {});
    const rest = columns.filter((column) => column !== "id" && column !== "alias").join(", ");
    await databases.query(
      place,
      `${others} insert into tendon_devices (id, alias, ${rest})
       select cast(1000000 + i as text), cast(1000000 + i as text), ${rest} from row, tendon_devices`,
    );
    await databases.query(
      place,
      `insert into tendon_aliases (alias, device, current, given_at) select alias, id, 1, 0 from tendon_devices where id <> 'first'`,
    );
    const all = await store.devices.all();
    expect(all.length).toBe(many);
    expect(all.at(-1)).toEqual(device(0, { id: "first", alias: "first" }));
    expect(all.at(-2)).toEqual(
      device(0, { id: `${1_000_000 + many - 1}`, alias: `${1_000_000 + many - 1}` }),
    );
    expect((await store.devices.aliases()).size).toBe(many);
  }, 120_000);
});

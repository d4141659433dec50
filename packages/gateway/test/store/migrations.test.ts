import fs from "node:fs";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { StartError } from "../../src/errors.ts";
import type { Engine } from "../../src/store/engine.ts";
import { Health } from "../../src/store/health.ts";
import { type Migration, migrations } from "../../src/store/migrations/migrations.ts";
import { openPostgres } from "../../src/store/postgres-engine.ts";
import { updateSchema } from "../../src/store/schema.ts";
import { openSqlite } from "../../src/store/sqlite-engine.ts";
import { Child } from "./child.ts";
import { Databases, kinds, type Place } from "./databases.ts";
import { call, deviceId, token } from "./samples.ts";

async function migrate(place: Place, known: readonly Migration[]): Promise<void> {
  const health = new Health(() => {});
  const engine: Engine =
    place.url === undefined
      ? await openSqlite(place.dataFolder, health, systemClock)
      : openPostgres(place.url, health);
  try {
    await updateSchema(engine, systemClock, known);
  } finally {
    await engine.close();
  }
}

describe.each(kinds)("the schema in %s", (kind) => {
  const databases = new Databases(kind);
  const versions = async (place: Place) =>
    await databases.query(place, "select version, name from tendon_schema order by version");
  const newest = migrations.map(({ name }, index) => ({ version: index + 1, name }));

  it("is created in an empty database and unchanged in a current one", async () => {
    const { store, place } = await databases.open(await databases.newPlace());
    expect(await versions(place)).toEqual(newest);
    await store.close();
    await databases.open(place);
    expect(await versions(place)).toEqual(newest);
  });

  it("is migrated from any older version, with its data", async () => {
    for (let version = 1; version < migrations.length; version += 1) {
      const place = await databases.newPlace();
      await migrate(place, migrations.slice(0, version));
      expect(await versions(place)).toEqual(newest.slice(0, version));
      await databases.query(
        place,
        `insert into tendon_tokens (id, name, hash, scopes, created_at) values ('old', 'Old', 'h', '["read"]', 1)`,
      );
      const { store } = await databases.open(place);
      expect(await versions(place)).toEqual(newest);
      expect(await store.tokens.get("old")).toEqual(
        token(0, {
          id: "old",
          name: "Old",
          hash: "h",
          scopes: ["read"],
          createdAt: 1,
          createdBy: undefined,
          createdFrom: undefined,
        }),
      );
      store.calls.append(call(1));
      expect((await store.calls.query({})).calls).toEqual([call(1)]);
    }
  });

  it("offers the images of an older version to all devices, as before", async () => {
    const place = await databases.newPlace();
    await migrate(place, migrations.slice(0, 15));
    await databases.query(
      place,
      `insert into tendon_firmware (id, board, version, file, size, sha256, share, state, added_at, chip, project, forced)
        values ('old', 'esp-box-3', '2.5.0', 'old.bin', 1, '', 10, 'offered', 1, 'esp32s3', 'xiaozhi', 0)`,
    );
    const { store } = await databases.open(place);
    expect(await store.firmware.get("old")).toMatchObject({ share: 10, tags: [], state: "offered" });
    expect(await store.firmware.change("old", { tags: ["lab"] })).toBe(true);
    expect(await store.firmware.get("old")).toMatchObject({ share: 10, tags: ["lab"] });
  });

  it("finds the calls that an older version wrote, and continues with them", async () => {
    const place = await databases.newPlace();
    await migrate(place, migrations.slice(0, 10));
    for (let number = 0; number < 6; number += 1) {
      const { id, at, device, tool } = call(number);
      await databases.query(
        place,
        `insert into tendon_calls (at, id, device, tool, principal, outcome, queued_ms, duration_ms, argument_digest)
          values (${at}, '${id}', '${device}', '${tool}', 'admin', 'ok', 0, 1, '')`,
      );
    }
    const { store } = await databases.open(place);
    store.calls.append(call(9));
    const { calls } = await store.calls.query({ device: deviceId(0) });
    expect(calls.map(({ id }) => id)).toEqual([call(9).id, call(3).id, call(0).id]);
  });

  it("of a newer version is rejected with a message, and not changed", async () => {
    const { store, place } = await databases.open();
    await store.close();
    await databases.query(
      place,
      "insert into tendon_schema (version, name, applied_at) values (99, 'later', 0)",
    );
    const opening = databases.open(place);
    await expect(opening).rejects.toThrow(StartError);
    await expect(opening).rejects.toThrow(
      /newer version of Tendon: its schema is version 99, this version supports up to \d+/,
    );
    expect(await versions(place)).toEqual([...newest, { version: 99, name: "later" }]);
  });

  it("is unchanged when a migration fails", async () => {
    const place = await databases.newPlace();
    const broken: Migration = {
      name: "broken",
      run: async (tx) => {
        await tx.schema.createTable("tendon_half").addColumn("id", "text").execute();
        await tx.schema.createTable("tendon_half").addColumn("id", "text").execute();
      },
    };
    await expect(migrate(place, [...migrations.slice(0, 1), broken])).rejects.toMatchObject({
      fault: "refused",
    });
    const { store } = await databases.open(place);
    expect(await versions(place)).toEqual(newest);
    expect(await store.devices.all()).toEqual([]);
    await expect(databases.query(place, "select id from tendon_half")).rejects.toThrow();
  });

  it("is created once by several processes that start at the same time", async () => {
    const place = await databases.newPlace();
    const children = await Promise.all(Array.from({ length: 4 }, () => Child.start("open", place)));
    await Promise.all(children.map((child) => child.said("ready")));
    for (const child of children) child.go();
    await Promise.all(children.map((child) => child.said("done")));
    expect(children.flatMap(({ lines }) => lines).filter((line) => line.startsWith("problem"))).toEqual([]);
    expect(await versions(place)).toEqual(newest);
  }, 60_000);
});

describe("an unusable location", () => {
  const databases = new Databases("sqlite");

  it("is rejected with a message", async () => {
    const { dataFolder } = await databases.newPlace();
    const cases = [
      { url: "mysql://x", words: /must be `sqlite:` or begin with `postgres:/ },
      {
        url: "postgres://user:hidden@127.0.0.1:1/tendon",
        words: /127\.0\.0\.1:1\/tendon cannot be used.*ECONNREFUSED/,
      },
      { url: "postgres://", words: /StartError|cannot be used|not an address/ },
    ];
    for (const { url, words } of cases) {
      const opening = databases.open({ dataFolder, url, connectTimeoutMs: 0 });
      await expect(opening).rejects.toThrow(StartError);
      await expect(opening).rejects.toThrow(words);
      await expect(opening).rejects.not.toThrow(/hidden/);
    }
  });

  it("that is not a database is rejected with a message", async () => {
    const { dataFolder } = await databases.newPlace();
    fs.writeFileSync(
      `${dataFolder}/tendon.db`,
      "this is not a database, and it is long enough to be looked at",
    );
    const opening = databases.open({ dataFolder });
    await expect(opening).rejects.toThrow(StartError);
    await expect(opening).rejects.toThrow(/tendon\.db cannot be opened \(file is not a database\)/);
  });
});

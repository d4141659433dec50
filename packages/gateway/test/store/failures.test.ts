import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { until } from "../../../../test/inbox.ts";
import { ManualClock } from "../../../../test/manual-clock.ts";
import { StartError } from "../../src/errors.ts";
import { Health } from "../../src/store/health.ts";
import { Store } from "../../src/store/open-store.ts";
import { updateSchema } from "../../src/store/schema.ts";
import { openSqlite } from "../../src/store/sqlite-engine.ts";
import { openSqliteFile } from "../../src/store/sqlite-library.ts";
import { openStore, type StoreProblem } from "../../src/store/store.ts";
import { Child } from "./child.ts";
import { Databases, kinds } from "./databases.ts";
import { call, device, deviceId, event, token } from "./samples.ts";

describe.each(kinds)("after kill -9 in %s", (kind) => {
  const databases = new Databases(kind);

  it("no device and no token is missing, and of the history at most the last 100 ms", async () => {
    const place = await databases.newPlace();
    const child = await Child.start("write", place);
    await child.said("ready");
    child.go();
    await child.said("device 300");
    const lines = await child.kill();
    const told = (what: string) =>
      lines.filter((line) => line.startsWith(what)).map((line) => line.split(" "));
    const { store } = await databases.open(place);
    const kept = new Map((await store.devices.all()).map((one) => [one.id, one]));
    const tokens = new Set((await store.tokens.all()).map(({ id }) => id));
    expect(told("device").filter(([, number]) => !kept.has(deviceId(Number(number))))).toEqual([]);
    expect(told("token").filter(([, number]) => !tokens.has(`token-${number}`))).toEqual([]);
    expect(kept.get(deviceId(300))).toEqual(device(300));

    const times = told("call").map(([, , at]) => Number(at));
    const last = times.at(-1) ?? 0;
    // A starved machine is not the child's fault: it delays the child, and the database that it waits for.
    const stall = Math.max(...times.map((at, index) => at - (times[index - 1] ?? at)));
    const written = new Set((await store.calls.query({ limit: 1_000 })).calls.map(({ id }) => id));
    const missing = told("call").filter(([, number]) => !written.has(call(Number(number)).id));
    const oldest = missing.map(([, , at]) => last - Number(at));
    expect(Math.max(0, ...oldest)).toBeLessThanOrEqual(100 + 2 * stall);
    expect(written.size).toBeGreaterThan(0);
  }, 60_000);
});

describe("while PostgreSQL is unavailable", () => {
  const databases = new Databases("postgres");

  it("history waits and is written later, and everything else fails with a message", async () => {
    const { store, clock, problems } = await databases.open();
    await store.devices.save(device(1));
    store.calls.append(call(1));
    await store.flush();
    await databases.server.stop();
    for (let number = 2; number <= 600; number += 1) store.calls.append(call(number));
    store.events.append(event(1));
    store.presence.deviceSeen(deviceId(1), 100);
    await expect(store.flush()).rejects.toMatchObject({ fault: "unavailable" });
    await expect(store.devices.save(device(2))).rejects.toMatchObject({
      code: "storage_unavailable",
      fault: "unavailable",
    });
    await expect(store.ping()).rejects.toMatchObject({ fault: "unavailable" });
    await expect(store.calls.query({})).rejects.toMatchObject({ fault: "unavailable" });
    await expect(
      store.transaction(async ({ tokens }) => await tokens.create(token(1))),
    ).rejects.toMatchObject({
      fault: "unavailable",
    });
    expect(store.state).toMatchObject({ unavailable: true, waitingRows: 601 });
    store.presence.deviceSeen(deviceId(1), 200);
    clock.advance(60_000);
    expect(problems).toEqual([{ kind: "unavailable", detail: expect.stringContaining("PostgreSQL") }]);
    await databases.server.startAgain();
    await until(async () => {
      clock.advance(5_000);
      return store.state.waitingRows === 0;
    }, "the rows to be written");
    await store.flush();
    expect(problems).toEqual([{ kind: "unavailable", detail: expect.any(String) }, { kind: "available" }]);
    expect((await store.calls.query({ limit: 1_000 })).calls).toHaveLength(600);
    expect(await store.events.between("one", 0, 10, 10)).toEqual([event(1)]);
    expect(await store.devices.get(deviceId(1))).toEqual(device(1, { lastSeenAt: 200 }));
    expect(store.state).toMatchObject({ unavailable: false, lostRows: 0 });
    await store.ping();
  }, 60_000);

  it("a start waits for it up to half a minute, with log lines", async () => {
    const place = await databases.newPlace();
    await databases.server.stop();
    const clock = new ManualClock();
    const problems: StoreProblem[] = [];
    const opening = openStore({ ...place, clock, onProblem: (problem) => problems.push(problem) });
    const ended = opening.then(
      () => "opened",
      (error: unknown) => error,
    );
    let result: unknown;
    void ended.then((end) => {
      result = end;
    });
    await until(() => {
      if (clock.pending > 0) clock.advance(250);
      return result !== undefined;
    }, "the start to give up");
    expect(result).toBeInstanceOf(StartError);
    expect(String(result)).toMatch(/cannot be used \(PostgreSQL: .*ECONNREFUSED.*, for (28|29|30) s\)/);
    const waits = problems.filter(({ kind }) => kind === "waiting");
    expect(waits.length).toBeGreaterThan(10);
    await databases.server.startAgain();
  }, 60_000);

  it("dropped rows are counted and logged, and the newest are kept", async () => {
    const { store, clock, problems } = await databases.open();
    await databases.server.stop();
    for (let number = 0; number < 60_000; number += 1) store.calls.append(call(number));
    expect(store.state.waitingRows).toBeGreaterThan(49_000);
    expect(store.state.waitingRows).toBeLessThanOrEqual(50_000);
    expect(store.state.lostRows).toBe(60_000 - store.state.waitingRows);
    const large = "x".repeat(60_000);
    for (let number = 0; number < 1_000; number += 1)
      store.calls.append(call(60_000 + number, { arguments: { large } }));
    expect(store.state.waitingRows).toBeLessThan(1_000);
    await expect(store.flush()).rejects.toMatchObject({ fault: "unavailable" });
    const { lostRows, waitingRows } = store.state;
    expect(problems.at(-1)).toEqual({ kind: "lost", what: "call history", count: lostRows, total: lostRows });
    await databases.server.startAgain();
    await until(async () => {
      clock.advance(5_000);
      return store.state.waitingRows === 0;
    }, "the rows to be written");
    const { calls } = await store.calls.query({ limit: 1_000 });
    expect(calls).toHaveLength(waitingRows);
    expect(calls[0]).toEqual(call(60_999, { arguments: { large } }));
  }, 60_000);

  it("a stop is short and logs what is lost", async () => {
    const { store, problems } = await databases.open();
    await databases.server.stop();
    store.calls.append(call(1));
    store.calls.append(call(2));
    await store.close();
    expect(problems).toContainEqual({ kind: "lost", what: "call history", count: 2, total: 2 });
    await databases.server.startAgain();
  }, 60_000);

  it("a wait for a locked table is bounded, and the connection works afterwards", async () => {
    const { store, place, problems } = await databases.open();
    await store.devices.save(device(1));
    const unlock = await databases.server.lockTable(place.url ?? "", "tendon_devices");
    const changed = device(1, { firmware: "2" });
    await expect(store.devices.save(changed, ["firmware"])).rejects.toMatchObject({ fault: "unavailable" });
    await unlock();
    expect(await store.devices.save(changed, ["firmware"])).toBe("saved");
    expect(problems).toEqual([]);
  }, 60_000);
});

describe("while SQLite's file is held by another process", () => {
  const databases = new Databases("sqlite");

  it("history waits and is written later", async () => {
    const { store, clock, place, problems } = await databases.open();
    const other = openSqliteFile(path.join(place.dataFolder, "tendon.db"));
    other.exec("begin immediate");
    store.calls.append(call(1));
    await expect(store.flush()).rejects.toMatchObject({ fault: "unavailable" });
    await expect(store.devices.save(device(1))).rejects.toMatchObject({ fault: "unavailable" });
    other.exec("rollback");
    other.close();
    clock.advance(5_000);
    await store.flush();
    expect((await store.calls.query({})).calls).toEqual([call(1)]);
    expect(problems).toEqual([
      { kind: "unavailable", detail: expect.stringContaining("locked") },
      { kind: "available" },
    ]);
  });

  it("nested use of the store in a transaction is rejected, without affecting others", async () => {
    const { store, clock } = await databases.open();
    const stuck = store.transaction(async () => await store.devices.all());
    const refused = expect(stuck).rejects.toMatchObject({ fault: "unavailable" });
    await until(async () => clock.pending === 2, "it to wait for its turn");
    clock.advance(10_000);
    await refused;
    expect(await store.devices.all()).toEqual([]);
  });

  it("only its owner can read it", async () => {
    const { place } = await databases.open();
    for (const name of fs.readdirSync(place.dataFolder))
      expect([name, fs.statSync(path.join(place.dataFolder, name)).mode & 0o777]).toEqual([name, 0o600]);
  });
});

describe("on a full disk", () => {
  it("history waits and is written later without loss, with one log line", async () => {
    const dataFolder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-full-"));
    const problems: StoreProblem[] = [];
    const onProblem = (problem: StoreProblem) => problems.push(problem);
    const health = new Health(onProblem);
    const clock = new ManualClock();
    const engine = await openSqlite(dataFolder, health, clock);
    await updateSchema(engine, clock);
    const store = new Store(engine, health, { clock, onProblem, dataFolder });
    store.calls.append(call(0));
    await store.flush();
    const pages = await sql<{ page_count: number }>`pragma page_count`.execute(engine.db);
    const room = async (more: number) =>
      await sql.raw(`pragma max_page_count = ${(pages.rows[0]?.page_count ?? 0) + more}`).execute(engine.db);
    await room(2);
    for (let number = 1; number <= 900; number += 1) store.calls.append(call(number));
    await expect(store.flush()).rejects.toMatchObject({ fault: "unavailable" });
    await expect(store.flush()).rejects.toMatchObject({ fault: "unavailable" });
    const saving = store.devices.save(device(1, { tags: ["x".repeat(20_000)] }));
    await expect(saving).rejects.toMatchObject({ code: "storage_unavailable" });
    await store.pruneOld();
    expect(store.state).toMatchObject({ unavailable: true, waitingRows: 900, lostRows: 0 });
    expect(problems).toEqual([{ kind: "unavailable", detail: expect.stringMatching(/full/) }]);
    await room(10_000);
    await store.flush();
    await store.ping();
    expect(problems.slice(1)).toEqual([{ kind: "available" }]);
    expect((await store.calls.query({ limit: 1_000 })).calls).toHaveLength(901);
    expect((await store.calls.query({ device: deviceId(0), limit: 1_000 })).calls).toHaveLength(301);
    await store.close();
    fs.rmSync(dataFolder, { recursive: true, force: true });
  });
});

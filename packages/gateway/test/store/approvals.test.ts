import { describe, expect, it } from "vitest";
import type { Approval, Store } from "../../src/store/store.ts";
import { Databases, kinds } from "./databases.ts";
import { device, deviceId, guarded } from "./samples.ts";

const tenMinutes = 600_000;

async function waitingIn(store: Store): Promise<Approval[]> {
  return (await store.approvals.list({ state: "waiting", limit: 100, accept: () => true })).approvals;
}

describe.each(kinds)("approvals in %s", (kind) => {
  const databases = new Databases(kind);

  it("are requested once, decided once by another principal, and used once", async () => {
    const { store, clock } = await databases.open();
    const { approvals } = store;
    const expiresAt = clock.now() + tenMinutes;
    const request = { call: guarded(), details: { a: 1 }, expiresAt };
    const asked = await approvals.request(request);
    expect(asked).toMatchObject({ approval: { ...request, state: "waiting" }, isNew: true });
    const id = asked?.approval.id ?? "";
    expect(await approvals.request(request)).toEqual({ approval: asked?.approval, isNew: false });
    expect(await waitingIn(store)).toEqual([asked?.approval]);
    expect(await approvals.currentDecision(guarded())).toBeUndefined();
    expect(await approvals.consume(guarded())).toBeUndefined();
    expect(await approvals.decide(id, { approve: true, by: "agent", expiresAt })).toBeUndefined();
    const granted = await approvals.decide(id, { approve: true, by: "owner", expiresAt: expiresAt + 5 });
    expect(granted).toMatchObject({ state: "approved", decidedBy: "owner", expiresAt: expiresAt + 5 });
    expect(await approvals.currentDecision(guarded())).toEqual(granted);
    expect(await approvals.decide(id, { approve: false, by: "owner", expiresAt })).toBeUndefined();
    expect(await waitingIn(store)).toEqual([]);
    const others = [
      { principal: "other" },
      { device: deviceId(2) },
      { tool: "self.other" },
      { argumentDigest: "d2" },
      { targetsDigest: "t1" },
      { schemaDigest: "s2" },
    ];
    for (const other of others) {
      expect(await approvals.currentDecision(guarded(other))).toBeUndefined();
      expect(await approvals.consume(guarded(other))).toBeUndefined();
    }
    expect(await approvals.consume(guarded())).toMatchObject({
      id,
      state: "consumed",
      consumedAt: clock.now(),
    });
    expect(await approvals.consume(guarded())).toBeUndefined();
    expect(await approvals.get(id)).toMatchObject({ state: "consumed" });
    expect((await approvals.request(request))?.approval.id).not.toBe(id);
  });

  it("are never used when they were denied or have expired", async () => {
    const { store, clock } = await databases.open();
    const { approvals } = store;
    const ask = async (argumentDigest: string) => {
      const expiresAt = clock.now() + tenMinutes;
      const call = guarded({ argumentDigest });
      return (await approvals.request({ call, details: undefined, expiresAt }))?.approval;
    };
    const decide = async (id: string | undefined, approve: boolean) =>
      await approvals.decide(id ?? "", { approve, by: "owner", expiresAt: clock.now() + tenMinutes });
    const [denied, granted, forgotten] = [await ask("denied"), await ask("granted"), await ask("forgotten")];
    await decide(denied?.id, false);
    await decide(granted?.id, true);
    expect(await approvals.currentDecision(guarded({ argumentDigest: "denied" }))).toMatchObject({
      state: "denied",
    });
    clock.advance(tenMinutes);
    expect(await approvals.currentDecision(guarded({ argumentDigest: "denied" }))).toBeUndefined();
    for (const digest of ["denied", "granted", "forgotten"])
      expect(await approvals.consume(guarded({ argumentDigest: digest }))).toBeUndefined();
    expect(await waitingIn(store)).toEqual([]);
    expect(await decide(forgotten?.id, true)).toBeUndefined();
    expect((await ask("forgotten"))?.id).not.toBe(forgotten?.id);
    expect(await approvals.get(forgotten?.id ?? "")).toMatchObject({ state: "expired" });
    clock.advance(25 * 60 * 60_000);
    await store.pruneOld();
    expect(await approvals.get(denied?.id ?? "")).toBeUndefined();
  });

  it("survive a restart, waiting or approved", async () => {
    const { store, clock, place } = await databases.open();
    const expiresAt = clock.now() + tenMinutes;
    const ask = async (argumentDigest: string) =>
      (await store.approvals.request({ call: guarded({ argumentDigest }), details: undefined, expiresAt }))
        ?.approval;
    const waiting = await ask("waiting");
    const granted = await ask("granted");
    await store.approvals.decide(granted?.id ?? "", { approve: true, by: "owner", expiresAt });
    await store.close();
    const again = (await databases.open(place)).store;
    expect(await waitingIn(again)).toEqual([waiting]);
    expect(await again.approvals.consume(guarded({ argumentDigest: "granted" }))).toMatchObject({
      id: granted?.id,
    });
  });

  it("are listed by state, newest first, in pages, for devices that the reader may see", async () => {
    const { store, clock } = await databases.open();
    const ids: string[] = [];
    for (const [number, state] of ["waiting", "denied", "approved", "consumed", "expired"].entries()) {
      const call = guarded({ argumentDigest: state, device: deviceId(number) });
      const expiresAt = clock.now() + (state === "expired" ? 0 : tenMinutes);
      const made = await store.approvals.request({ call, details: undefined, expiresAt });
      const id = made?.approval.id ?? "";
      if (["denied", "approved", "consumed"].includes(state))
        await store.approvals.decide(id, { approve: state !== "denied", by: "owner", expiresAt });
      if (state === "consumed") await store.approvals.consume(call);
      ids.unshift(id);
      clock.advance(1);
      const found = await store.approvals.list({
        state: state as Approval["state"],
        limit: 10,
        accept: () => true,
      });
      expect(found).toMatchObject({ approvals: [{ id, state }] });
      expect(found).not.toHaveProperty("nextCursor");
    }
    const page = async (cursor: string | undefined) =>
      await store.approvals.list({ cursor, limit: 2, accept: ({ id }) => id !== ids[1] });
    const first = await page(undefined);
    expect(first.approvals.map(({ id }) => id)).toEqual([ids[0], ids[2]]);
    const second = await page(first.nextCursor);
    expect(second.approvals.map(({ id }) => id)).toEqual([ids[3], ids[4]]);
    expect(second).not.toHaveProperty("nextCursor");
    await expect(page("nonsense")).rejects.toMatchObject({ code: "bad_request" });
  });

  it("are bounded per requester", async () => {
    const { store, clock } = await databases.open();
    const ask = async (principal: string, argumentDigest: string) =>
      await store.approvals.request({
        call: guarded({ principal, argumentDigest }),
        details: undefined,
        expiresAt: clock.now() + tenMinutes,
      });
    for (let number = 0; number < 100; number += 1) expect(await ask("agent", `${number}`)).toBeDefined();
    expect(await ask("agent", "one more")).toBeUndefined();
    expect(await ask("agent", "7")).toBeDefined();
    expect(await ask("other", "one more")).toBeDefined();
    clock.advance(tenMinutes);
    expect(await ask("agent", "one more")).toBeDefined();
  });

  it("are used by exactly one of many simultaneous calls, from several nodes", async () => {
    const first = await databases.open();
    // SQLite is for one process, where two connections would wait for each other.
    const second = kind === "postgres" ? await databases.open(first.place) : first;
    const expiresAt = first.clock.now() + tenMinutes;
    const nodes = Array.from({ length: 20 }, (_, number) => (number % 2 === 0 ? first : second).store);
    const asked = await Promise.all(
      nodes.map((node) => node.approvals.request({ call: guarded(), details: undefined, expiresAt })),
    );
    expect(new Set(asked.map((one) => one?.approval.id)).size).toBe(1);
    expect(asked.filter((one) => one?.isNew)).toHaveLength(1);
    const id = asked[0]?.approval.id ?? "";
    const decided = await Promise.all(
      nodes.map((node, number) =>
        node.approvals.decide(id, { approve: true, by: `owner-${number}`, expiresAt }),
      ),
    );
    expect(decided.filter((one) => one !== undefined)).toHaveLength(1);
    const consumed = await Promise.all(nodes.map((node) => node.approvals.consume(guarded())));
    expect(consumed.filter((one) => one !== undefined)).toHaveLength(1);
  });
});

describe.each(kinds)("pairing in %s", (kind) => {
  const databases = new Databases(kind);
  const codes = (...list: string[]) => {
    const left = [...list];
    return () => left.shift() ?? "none";
  };

  it("gives each pair its own code, the same until it expires", async () => {
    const { store, clock } = await databases.open();
    const expiresAt = clock.now() + 900_000;
    const pair = {
      device: deviceId(1),
      clientIdHash: "h1",
      challenge: "c1",
      details: { board: "x" },
      expiresAt,
      source: "s",
    };
    const first = await store.pairings.open({ ...pair, makeCode: codes("111111") });
    expect(first).toMatchObject({ code: "111111", challenge: "c1", attempts: 0, details: { board: "x" } });
    expect(await store.pairings.open({ ...pair, challenge: "c2", makeCode: codes("222222") })).toEqual(first);
    const copy = { ...pair, clientIdHash: "h2", makeCode: codes("111111", "111111", "333333") };
    expect(await store.pairings.open(copy)).toMatchObject({ code: "333333", clientIdHash: "h2" });
    expect((await store.pairings.waiting()).map(({ code }) => code)).toEqual(["111111", "333333"]);
    expect(await store.pairings.failed(deviceId(1), "h2")).toBe(1);
    expect(await store.pairings.failed(deviceId(1), "h2")).toBe(2);
    expect(await store.pairings.failed(deviceId(5), "h2")).toBe(0);
    expect(await store.pairings.find(deviceId(1), "h2")).toMatchObject({ code: "333333", attempts: 2 });
    clock.advance(900_000);
    expect(await store.pairings.byCode("111111")).toBeUndefined();
    expect(await store.pairings.take("111111")).toBeUndefined();
    expect(await store.pairings.waiting()).toEqual([]);
    const later = { ...pair, expiresAt: clock.now() + 900_000 };
    expect(await store.pairings.open({ ...later, makeCode: codes("333333") })).toMatchObject({
      code: "333333",
    });
    expect(await store.pruneOld()).toBe(0);
    await store.pairings.remove(deviceId(1));
    expect(await store.pairings.find(deviceId(1), "h1")).toBeUndefined();
  });

  it("is bounded, and removes expired codes in small steps", async () => {
    const { store, clock, place } = await databases.open();
    const expiresAt = clock.now() + 900_000;
    await databases.query(
      place,
      `with recursive row(i) as (select 0 union all select i + 1 from row where i < 9999)
       insert into tendon_pairings (device, client_id_hash, code, challenge, details, attempts, created_at, expires_at)
       select cast(i as text), 'h', cast(100000 + i as text), 'c', 'null', 0, 0, ${expiresAt} from row`,
    );
    const pair = { device: deviceId(20_000), clientIdHash: "h", challenge: "c", details: null, source: "s" };
    const open = async () =>
      await store.pairings.open({ ...pair, expiresAt: clock.now() + 900_000, makeCode: codes("999999") });
    expect(await open()).toBeUndefined();
    clock.advance(900_000);
    expect(await open()).toMatchObject({ code: "999999" });
    expect(await store.pruneOld()).toBe(1_000);
    expect(await store.pruneOld()).toBe(1_000);
  });

  it("limits the codes of one source, and stores proofs", async () => {
    const { store, clock, place } = await databases.open();
    const expiresAt = clock.now() + 900_000;
    await databases.query(
      place,
      `with recursive row(i) as (select 0 union all select i + 1 from row where i < 999)
       insert into tendon_pairings
         (device, client_id_hash, code, challenge, details, attempts, created_at, expires_at, source)
       select cast(i as text), 'h', cast(100000 + i as text), 'c', 'null', 0, 0, ${expiresAt}, 'full' from row`,
    );
    const pair = { device: deviceId(1), clientIdHash: "h1", challenge: "c", details: null, expiresAt };
    expect(await store.pairings.open({ ...pair, source: "full", makeCode: codes("1") })).toBeUndefined();
    const made = await store.pairings.open({ ...pair, source: "other", makeCode: codes("999998") });
    expect(made).toMatchObject({ code: "999998", provenAt: undefined });
    const copy = { ...pair, clientIdHash: "h2", source: "other", makeCode: codes("999999") };
    await store.pairings.open(copy);
    await store.pairings.proved(deviceId(1), "h2");
    expect(await store.pairings.ofDevice(deviceId(1))).toMatchObject([
      { code: "999998", provenAt: undefined },
      { code: "999999", provenAt: clock.now() },
    ]);
    expect(await store.pairings.count()).toBe(1_002);
    expect([await store.pairings.remove(deviceId(1)), await store.pairings.remove(deviceId(1))]).toEqual([
      true,
      false,
    ]);
    clock.advance(900_000);
    expect(await store.pairings.count()).toBe(0);
  });

  it("consumes a code together with its effect, or not at all", async () => {
    const { store, clock } = await databases.open();
    const expiresAt = clock.now() + 900_000;
    const pair = {
      device: deviceId(1),
      clientIdHash: "h1",
      challenge: "c",
      details: null,
      expiresAt,
      source: "s",
    };
    await store.pairings.open({ ...pair, makeCode: codes("111111") });
    const approve = async (alias: string) =>
      await store.transaction(async ({ devices, pairings }) => {
        const taken = await pairings.take("111111");
        const saved = await devices.save(device(1, { alias, clientIdHash: taken?.clientIdHash }));
        if (saved !== "saved" || taken === undefined) throw new TypeError("not now");
      });
    await store.devices.save(device(2, { alias: "desk" }));
    await expect(approve("desk")).rejects.toThrow("not now");
    expect(await store.pairings.byCode("111111")).toBeDefined();
    const outcomes = await Promise.allSettled([approve("lamp"), approve("lamp"), approve("lamp")]);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await store.devices.get(deviceId(1))).toMatchObject({ alias: "lamp", clientIdHash: "h1" });
    expect(await store.pairings.byCode("111111")).toBeUndefined();
  });
});

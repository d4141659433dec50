import { describe, expect, it } from "vitest";
import { HeldLeases } from "../../src/store/held-leases.ts";
import type { StoredLeases } from "../../src/store/leases.ts";
import type { Store } from "../../src/store/store.ts";
import { Databases, kinds } from "./databases.ts";

async function device(store: Store, id: string): Promise<void> {
  const nothing = { url: undefined, headers: undefined, timeoutMs: undefined, problem: undefined };
  await store.httpDevices.add({ id, ...nothing, createdAt: 0, createdBy: "x", owner: undefined, epoch: 0 });
}

describe.each(kinds)("leases in %s", (kind) => {
  const databases = new Databases(kind);

  const open = async (place: "row" | "setting") => {
    const { store } = await databases.open();
    await device(store, "lamp");
    const stored: StoredLeases = place === "row" ? store.httpDevices.leases : store.leases("lease_of_test:");
    const alive = new Set(["a", "b", "c", "d", "e"]);
    const of = (run: string) => new HeldLeases(stored, run, (other) => alive.has(other));
    return { store, stored, alive, of };
  };

  it.each(["row", "setting"] as const)(
    "are held by one of many runs that claim at once (%s)",
    async (place) => {
      const { of } = await open(place);
      const runs = ["a", "b", "c", "d", "e"].map(of);
      const found = await Promise.all(runs.map((run) => run.check("lamp")));
      expect(found.filter((each) => each === "held")).toHaveLength(1);
    },
  );

  it.each(["row", "setting"] as const)(
    "move when their owner has died, which finds out (%s)",
    async (place) => {
      const { of, alive } = await open(place);
      const [a, b] = [of("a"), of("b")];
      expect([await a.check("lamp"), a.epochOf("lamp")]).toEqual(["held", 1]);
      expect([await b.check("lamp"), b.epochOf("lamp")]).toEqual(["elsewhere", undefined]);
      alive.delete("a");
      expect([await b.check("lamp"), b.epochOf("lamp")]).toEqual(["held", 2]);
      alive.add("a");
      expect([await a.check("lamp"), await a.check("lamp")]).toEqual(["lost", "elsewhere"]);
      await a.release("lamp");
      expect(await b.check("lamp")).toBe("held");
      await b.release("lamp");
      expect([await a.check("lamp"), a.epochOf("lamp")]).toEqual(["held", 3]);
    },
  );

  it("of a deleted row are lost", async () => {
    const { store, of } = await open("row");
    const a = of("a");
    await a.check("lamp");
    await store.httpDevices.remove("lamp");
    expect([await a.check("lamp"), await a.check("lamp")]).toEqual(["lost", "elsewhere"]);
  });

  it("are understood by nodes of 0.2, and theirs here", async () => {
    const { store, stored, of, alive } = await open("setting");
    const key = "lease_of_test:lamp";
    await store.settings.set(key, { owner: "b" });
    const a = of("a");
    expect(await a.check("lamp")).toBe("elsewhere");
    alive.delete("b");
    expect(await a.check("lamp")).toBe("held");
    const lease = await store.settings.get(key);
    expect(lease).toEqual({ owner: "a", epoch: 1 });
    // A node of 0.2 takes over, and releases.
    expect(await store.settings.exchange(key, lease, { owner: "c" })).toBe(true);
    expect(await a.check("lamp")).toBe("lost");
    await store.settings.remove(key);
    expect([await a.check("lamp"), await stored.get("lamp")]).toEqual(["held", { owner: "a", epoch: 1 }]);
  });

  it("are claimed anew after a claim was forgotten", async () => {
    const { of } = await open("row");
    const a = of("a");
    await a.check("lamp");
    a.forget("lamp");
    expect([await a.check("lamp"), a.epochOf("lamp")]).toEqual(["held", 2]);
  });
});

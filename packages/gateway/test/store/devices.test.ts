import type { ToolDefinition } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codePoint } from "../../../protocol/test/code-point.ts";
import { Databases, kinds } from "./databases.ts";
import { device, deviceId } from "./samples.ts";

function tool(name: string, description = "does something"): ToolDefinition {
  return { name, description, inputSchema: { type: "object" }, audience: "agent", repairs: [] };
}

describe.each(kinds)("devices in %s", (kind) => {
  const databases = new Databases(kind);

  it("are read as they were saved, also after a restart", async () => {
    const { store, place } = await databases.open();
    const full = device(1, {
      aliasChosen: true,
      transportSetting: "websocket",
      approval: "pending",
      serial: "SN-1",
      sealedKey: "sealed",
      generation: 7,
      lapsesAt: 5,
      lastSeenAt: 1_800_000_000_000,
      lastDisconnectAt: 1_800_000_000_001,
      lastDisconnectReason: "silent for 90 s",
    });
    const bare = device(2, {
      clientIdHash: undefined,
      tags: [],
      board: undefined,
      firmware: undefined,
      protocolVersion: undefined,
      transport: undefined,
    });
    expect([await store.devices.save(full), await store.devices.save(bare)]).toEqual(["saved", "saved"]);
    expect(await store.devices.all()).toEqual([full, bare]);
    await store.close();
    const again = await databases.open(place);
    expect(await again.store.devices.all()).toEqual([full, bare]);
    expect(await again.store.devices.get(full.id)).toEqual(full);
    expect(await again.store.devices.get("unknown")).toBeUndefined();
  });

  it("accept times with fractions of a millisecond, and round them", async () => {
    const { store, clock } = await databases.open();
    await store.devices.save(device(1, { createdAt: 10.4, lastSeenAt: 20.6 }));
    expect(await store.devices.get(deviceId(1))).toMatchObject({ createdAt: 10, lastSeenAt: 21 });
    store.presence.deviceLeft(deviceId(1), 30.2, 40.7, "left");
    clock.advance(1_000);
    await store.flush();
    expect(await store.devices.get(deviceId(1))).toMatchObject({ lastSeenAt: 30, lastDisconnectAt: 41 });
  });

  it("update only the named fields, without overwriting another node's changes", async () => {
    const { store } = await databases.open();
    await store.devices.save(device(1, { firmware: "1.0", tags: ["old"] }));
    await store.devices.save(device(1, { firmware: "1.0", approval: "revoked", tags: ["new"] }));
    const stale = device(1, { firmware: "1.1", tags: ["old"] });
    expect(await store.devices.save(stale, ["firmware"])).toBe("saved");
    expect(await store.devices.save(stale, [])).toBe("saved");
    expect(await store.devices.get(stale.id)).toMatchObject({
      approval: "revoked",
      firmware: "1.1",
      tags: ["new"],
    });
  });

  it("have unique aliases, and old ones resolve until another device uses them", async () => {
    const { store } = await databases.open();
    const { devices } = store;
    await devices.save(device(1, { alias: "desk" }));
    await devices.save(device(2, { alias: "lamp" }));
    expect(await devices.save(device(3, { alias: "desk" }))).toBe("alias_taken");
    expect(await devices.get(deviceId(3))).toBeUndefined();
    expect(await devices.rename(deviceId(2), "desk", true)).toBe("alias_taken");
    expect(await devices.rename(deviceId(9), "free", true)).toBe("unknown");
    expect(await devices.rename(deviceId(1), "shelf", true)).toBe("renamed");
    expect(await devices.get(deviceId(1))).toMatchObject({ alias: "shelf", aliasChosen: true });
    expect(Object.fromEntries(await devices.aliases())).toEqual({
      desk: deviceId(1),
      shelf: deviceId(1),
      lamp: deviceId(2),
    });
    expect(await devices.rename(deviceId(2), "desk", true)).toBe("renamed");
    expect((await devices.aliases()).get("desk")).toBe(deviceId(2));
    expect(await devices.rename(deviceId(1), "desk", true)).toBe("alias_taken");
    expect(await devices.rename(deviceId(2), "lamp", false)).toBe("renamed");
    expect(await devices.rename(deviceId(1), "desk", true)).toBe("renamed");
  });

  it("are deleted with all their data", async () => {
    const { store } = await databases.open();
    await store.devices.save(device(1, { alias: "desk" }));
    await store.names.claim([{ name: "desk__a", device: deviceId(1), tool: "a" }]);
    await store.toolLists.save(deviceId(1), {
      tools: [tool("a")],
      setAside: [],
      complete: true,
      problem: undefined,
      truncated: false,
    });
    expect(await store.devices.remove(deviceId(1))).toBe(true);
    expect(await store.devices.remove(deviceId(1))).toBe(false);
    expect(await store.devices.all()).toEqual([]);
    expect((await store.devices.aliases()).size).toBe(0);
    expect(await store.names.ofDevice(deviceId(1))).toEqual([]);
    expect(await store.toolLists.get(deviceId(1))).toBeUndefined();
    expect(await store.devices.save(device(2, { alias: "desk" }))).toBe("saved");
  });

  it("have their last-seen times written together, only the newest", async () => {
    const { store, clock } = await databases.open();
    await store.devices.save(device(1));
    await store.devices.save(device(2));
    store.presence.deviceSeen(deviceId(1), 100, "websocket");
    store.presence.deviceLeft(deviceId(1), 110, 120, "silent");
    store.presence.deviceSeen(deviceId(1), 200);
    store.presence.deviceSeen(deviceId(2), 300);
    store.presence.deviceSeen(deviceId(9), 400);
    expect(store.state.waitingRows).toBe(3);
    clock.advance(1_000);
    await store.flush();
    expect(store.state.waitingRows).toBe(0);
    expect(await store.devices.all()).toEqual([
      device(1, {
        transport: "websocket",
        lastSeenAt: 200,
        lastDisconnectAt: 120,
        lastDisconnectReason: "silent",
      }),
      device(2, { lastSeenAt: 300 }),
    ]);
  });

  it("store any text; a name with NUL is rejected, a description with NUL is not", async () => {
    const { store } = await databases.open();
    const odd = `O'Brien "x" \\ 🦾 ; drop table tendon_devices; -- \n\t %_ \u202e`;
    const strange = device(1, {
      alias: "odd",
      board: odd,
      tags: [odd, "a\u0000b", "\ud800"],
      firmware: "1\u00002",
    });
    await store.devices.save(strange);
    expect(await store.devices.get(deviceId(1))).toEqual({ ...strange, firmware: "1\ufffd2" });
    for (const id of ["a\u0000b", "\ud800", "", "x".repeat(513)])
      await expect(store.devices.save(device(2, { id }))).rejects.toMatchObject({
        name: "StoreError",
        fault: "refused",
      });
    await expect(store.devices.rename(deviceId(1), "a\u0000", true)).rejects.toMatchObject({
      fault: "refused",
    });
    expect(await store.devices.all()).toHaveLength(1);
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: codePoint }),
        fc.array(fc.string({ unit: codePoint })),
        async (text, tags) => {
          await store.devices.save(device(1, { board: text, tags }), ["board", "tags"]);
          expect(await store.devices.get(deviceId(1))).toMatchObject({
            board: text.replaceAll("\u0000", "\ufffd"),
            tags,
          });
        },
      ),
      { numRuns: 30 },
    );
  });

  it("keep their exposed names as long as they exist", async () => {
    const { store, place } = await databases.open();
    const names = Array.from({ length: 700 }, (_, number) => ({
      name: `desk__t${number.toString().padStart(3, "0")}`,
      device: deviceId(1),
      tool: `self.t${number}`,
    }));
    expect(await store.names.claim(names)).toEqual([]);
    expect(await store.names.claim(names.slice(0, 3))).toEqual([]);
    const thief = { name: "desk__t001", device: deviceId(2), tool: "self.t1" };
    expect(await store.names.claim([thief, { ...thief, name: "other__t1" }])).toEqual([names[1]]);
    expect(await store.names.claim([])).toEqual([]);
    await store.close();
    const again = (await databases.open(place)).store;
    expect(await again.names.ofDevice(deviceId(2))).toEqual([{ ...thief, name: "other__t1" }]);
    const all: unknown[] = [];
    for await (const page of again.names.pages()) all.push(...page);
    expect(all).toEqual([...names, { ...thief, name: "other__t1" }]);
  });

  it("keep their tools; equal lists are stored once and removed when unused", async () => {
    const { store, clock, place } = await databases.open();
    const list = { tools: [tool("a"), tool("b\u0000")], setAside: [{ name: "c", reason: "too large" }] };
    const whole = { ...list, complete: true, problem: undefined, truncated: false };
    const listedAt = clock.now();
    const digest = await store.toolLists.save(deviceId(1), whole);
    expect(await store.toolLists.save(deviceId(2), { ...whole, complete: false, problem: "cut short" })).toBe(
      digest,
    );
    const other = await store.toolLists.save(deviceId(3), { ...whole, tools: [] });
    expect(other).not.toBe(digest);
    expect(await store.toolLists.get(deviceId(1))).toEqual({ ...whole, digest, listedAt });
    const all = await store.toolLists.all();
    expect(all.get(deviceId(2))).toEqual({
      ...whole,
      complete: false,
      problem: "cut short",
      digest,
      listedAt,
    });
    expect(all.get(deviceId(1))?.tools).toBe(all.get(deviceId(2))?.tools);
    const contents = async () => await databases.query(place, "select digest from tendon_tool_contents");
    expect(await contents()).toHaveLength(2);
    // The list of another device that nobody has any more.
    await store.toolLists.save(deviceId(3), whole);
    expect(await contents()).toEqual([{ digest }]);
    // The list of a device that was deleted.
    await store.toolLists.save(deviceId(4), { ...whole, tools: [] });
    await store.devices.remove(deviceId(4));
    await store.pruneOld();
    expect(await contents()).toHaveLength(2);
    clock.advance(25 * 60 * 60_000);
    await store.pruneOld();
    expect(await contents()).toEqual([{ digest }]);
    expect((await store.toolLists.all()).size).toBe(3);
  });
});

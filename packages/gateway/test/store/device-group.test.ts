import type { ToolDefinition } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { Databases, kinds } from "./databases.ts";
import { device, deviceId } from "./samples.ts";

function listOf(...names: readonly string[]) {
  const tools = names.map(
    (name): ToolDefinition => ({
      name,
      description: "does something",
      inputSchema: { type: "object" },
      audience: "agent",
      repairs: [],
    }),
  );
  return { tools, setAside: [], complete: true, problem: undefined, truncated: false };
}

const nothing = async () => {};

describe.each(kinds)("a group of devices in %s", (kind) => {
  const databases = new Databases(kind);

  it("is saved in one transaction, with rows, aliases and tools", async () => {
    const { store, place } = await databases.open();
    const numbers = Array.from({ length: 313 }, (_, at) => at + 1);
    const shared = listOf("a", "b");
    const writes = numbers.map((number) => ({ device: device(number), only: undefined, list: shared }));
    expect(await store.saveDevices(writes, nothing)).toEqual(new Set());
    const again = (await databases.open(place)).store;
    expect(await again.devices.all()).toEqual(writes.map(({ device: row }) => row));
    expect((await again.devices.aliases()).size).toBe(numbers.length);
    const lists = await again.toolLists.all();
    expect(lists.size).toBe(numbers.length);
    expect(lists.get(deviceId(313))).toMatchObject(shared);
    expect(await databases.query(place, "select digest from tendon_tool_contents")).toHaveLength(1);
  });

  it("changes only the given fields of a device that exists", async () => {
    const { store } = await databases.open();
    await store.devices.save(device(1, { approval: "revoked", firmware: "1.0", alias: "old" }));
    const changed = device(1, { approval: "approved", firmware: "2.0", alias: "new" });
    const writes = [
      { device: changed, only: ["firmware", "alias"] as const, list: undefined },
      { device: device(2), only: [], list: listOf("a") },
    ];
    await store.saveDevices(writes, nothing);
    expect(await store.devices.get(deviceId(1))).toMatchObject({
      approval: "revoked",
      firmware: "2.0",
      alias: "new",
    });
    expect(await store.devices.get(deviceId(2))).toEqual(device(2));
    // The old alias still resolves, and another device may take it.
    expect((await store.devices.aliases()).get("old")).toBe(deviceId(1));
    expect(await store.devices.save(device(3, { alias: "old" }))).toBe("saved");
  });

  it("leaves out a device whose alias another device has", async () => {
    const { store } = await databases.open();
    await store.devices.save(device(1, { alias: "desk" }));
    const writes = [
      { device: device(2, { alias: "desk" }), only: undefined, list: listOf("a") },
      { device: device(3), only: undefined, list: listOf("a") },
    ];
    expect(await store.saveDevices(writes, nothing)).toEqual(new Set([deviceId(2)]));
    expect(await store.devices.get(deviceId(2))).toBeUndefined();
    expect(await store.toolLists.get(deviceId(2))).toBeUndefined();
    expect(await store.devices.get(deviceId(3))).toEqual(device(3));
  });

  it("replaces tool lists, and removes those that no device has any more", async () => {
    const { store, place } = await databases.open();
    const write = (number: number, list: ReturnType<typeof listOf>) => ({
      device: device(number),
      only: undefined,
      list,
    });
    const [first, second] = [listOf("a"), listOf("b")];
    await store.saveDevices([write(1, first), write(2, first)], nothing);
    await store.saveDevices([write(1, second)], nothing);
    const contents = async () => await databases.query(place, "select digest from tendon_tool_contents");
    expect(await contents()).toHaveLength(2);
    await store.saveDevices([write(2, second)], nothing);
    expect(await contents()).toHaveLength(1);
  });

  it("is not saved at all if a part of it fails", async () => {
    const { store } = await databases.open();
    const writes = [{ device: device(1), only: undefined, list: listOf("a") }];
    const fails = async () => {
      throw new Error("no");
    };
    await expect(store.saveDevices(writes, fails)).rejects.toThrow("no");
    const bad = [...writes, { device: device(2, { alias: "a\u0000b" }), only: undefined, list: undefined }];
    await expect(store.saveDevices(bad, nothing)).rejects.toMatchObject({ fault: "refused" });
    expect(await store.devices.all()).toEqual([]);
  });
});

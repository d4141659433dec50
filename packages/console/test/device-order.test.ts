import type { Device } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { nextOrder, ordered, readOrder, writeOrder } from "../src/pages/fleet/device-order.ts";

function device(id: string, alias: string, more: Partial<Device> = {}): Device {
  return { id, alias, board: null, toolCount: 0, lastSeenAt: null, ...more } as Device;
}

function sorted(devices: readonly Device[], order: string): string[] {
  return ordered(devices, readOrder(order) ?? { by: "alias", descending: true });
}

function aliases(devices: readonly Device[]): string[] {
  const byId = new Map(devices.map(({ id, alias }) => [id, alias]));
  return sorted(devices, "alias").map((id) => byId.get(id) ?? "");
}

describe("the order of devices", () => {
  it("sorts numbers in chosen names by value", () => {
    const names = ["lamp-10", "lamp-2", "lamp", "hall-1f", "hall-10"];
    const devices = names.map((alias, at) => device(`02:00:00:00:ff:0${at}`, alias));
    expect(aliases(devices)).toEqual(["hall-1f", "hall-10", "lamp", "lamp-2", "lamp-10"]);
  });

  it("sorts the end of an id as text, after and before a number", () => {
    const devices = ["1e30", "000a", "0010", "00a1", "001f"].map((end) =>
      device(`02:00:00:00:${end.slice(0, 2)}:${end.slice(2)}`, `esp-box-3-${end}`),
    );
    devices.push(
      device("03:00:00:00:00:0A", "esp-box-3-000a-2"),
      device("04:00:00:00:00:0a", "esp-box-3-000a-10"),
    );
    expect(aliases(devices)).toEqual(
      ["000a", "000a-2", "000a-10", "0010", "001f", "00a1", "1e30"].map((end) => `esp-box-3-${end}`),
    );
  });

  it("falls back to the name, and then to the id", () => {
    const devices = [
      device("b", "same", { lastSeenAt: "2026-01-01T00:00:00.000Z", toolCount: 3 }),
      device("a", "same", { lastSeenAt: "2026-01-01T00:00:00.000Z", toolCount: 3 }),
      device("c", "x", { lastSeenAt: "2026-01-02T00:00:00.000Z", toolCount: 5 }),
    ];
    for (const order of ["-lastSeen", "-tools"]) expect(sorted(devices, order)).toEqual(["c", "a", "b"]);
    for (const order of ["lastSeen", "tools"]) expect(sorted(devices, order)).toEqual(["a", "b", "c"]);
  });

  it("has devices without a value last in both directions", () => {
    const at = "2026-01-01T00:00:00.000Z";
    const level = (value: number) => ({ at, signal: null, battery: { level: value, charging: false } });
    const devices = [
      device("a", "a"),
      device("b", "b", { vitals: level(80) }),
      device("c", "c", { vitals: level(9) }),
    ];
    expect(sorted(devices, "battery")).toEqual(["c", "b", "a"]);
    expect(sorted(devices, "-battery")).toEqual(["b", "c", "a"]);
    const seen = [
      device("a", "a", { lastSeenAt: at }),
      device("b", "b", { online: true, lastSeenAt: at }),
      device("c", "c"),
    ];
    expect(sorted(seen, "-lastSeen")).toEqual(["b", "a", "c"]);
  });

  it("is written in an address, and turns round at the second click", () => {
    for (const text of ["alias", "-lastSeen", "battery"]) {
      const order = readOrder(text);
      expect(order && writeOrder(order)).toBe(text);
    }
    expect(readOrder("size")).toBeUndefined();
    const first = nextOrder({ by: "alias", descending: false }, "lastSeen");
    expect([writeOrder(first), writeOrder(nextOrder(first, "lastSeen"))]).toEqual(["-lastSeen", "lastSeen"]);
  });
});

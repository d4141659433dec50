import type { Device } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { ordered, type SortBy } from "../src/pages/fleet/device-order.ts";

function device(id: string, alias: string, more: Partial<Device> = {}): Device {
  return { id, alias, board: null, toolCount: 0, lastSeenAt: null, ...more } as Device;
}

function aliases(devices: readonly Device[], sortBy: SortBy = "alias"): string[] {
  const byId = new Map(devices.map(({ id, alias }) => [id, alias]));
  return ordered(devices, sortBy).map((id) => byId.get(id) ?? "");
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
    for (const sortBy of ["lastSeen", "tools"] as const)
      expect(ordered(devices, sortBy)).toEqual(["c", "a", "b"]);
  });
});

import { limits } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { Names } from "../src/fleet/names.ts";

describe("the names of a device's tools", () => {
  it("are bounded: the oldest of tools that are gone are dropped", () => {
    const names = new Names();
    const kept = names.exposed("d", "lamp", "kept");
    const oldest = names.exposed("d", "lamp", "gone_0");
    for (let count = 1; count < limits.namesPerDevice.max; count += 1)
      names.exposed("d", "lamp", `gone_${count}`);
    const other = names.exposed("e", "door", "gone_0");
    expect(names.prune("d", (tool) => tool === "kept")).toEqual([oldest]);
    expect(names.addressOf(oldest)).toBeUndefined();
    expect(names.addressOf(kept)).toEqual({ device: "d", tool: "kept" });
    expect(names.addressOf(other)).toEqual({ device: "e", tool: "gone_0" });
    expect(names.prune("d", () => false)).toEqual([]);
    // A tool that comes back gets its name again.
    expect(names.exposed("d", "lamp", "gone_0")).toBe(oldest);
    expect(names.addressOf(oldest)).toEqual({ device: "d", tool: "gone_0" });
  });
});

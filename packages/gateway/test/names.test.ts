import { limits, type ToolDefinition } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { type KnownTools, knownTools, noTools } from "../src/fleet/known-tool.ts";
import { Names } from "../src/fleet/names.ts";

function definition(name: string): ToolDefinition {
  return { name, description: "", inputSchema: { type: "object" }, audience: "agent", repairs: [] };
}

/** The names of a few devices, whose lists the test sets. */
function makeNames() {
  const lists = new Map<string, KnownTools>();
  const names = new Names((device) => lists.get(device));
  const list = (device: string, ...tools: readonly string[]) => {
    const before = lists.get(device) ?? noTools;
    const after = knownTools(tools.map(definition));
    lists.set(device, after);
    names.listChanged(device, before, after);
  };
  return { names, lists, list };
}

const longTool = "self.a_part_with_a_very_long_name.set_its_value";

describe("the names of a device's tools", () => {
  it("are bounded: the oldest of tools that are gone are dropped", () => {
    const { names, list } = makeNames();
    names.takeAlias("d", "lamp");
    names.takeAlias("e", "door");
    list("e", "gone_0");
    list("d", "kept", "gone_0");
    const kept = names.exposed("d", "lamp", "kept");
    const oldest = names.exposed("d", "lamp", "gone_0");
    const many = Array.from({ length: limits.namesPerDevice.max - 1 }, (_, at) => `gone_${at + 1}`);
    list("d", "kept", ...many);
    list("d", "kept");
    const other = names.exposed("e", "door", "gone_0");
    expect(names.prune("d")).toEqual([oldest]);
    expect(names.addressOf(oldest)).toBeUndefined();
    expect(names.addressOf(kept)).toEqual({ device: "d", tool: "kept" });
    expect(names.addressOf("lamp__gone_1")).toEqual({ device: "d", tool: "gone_1" });
    expect(names.addressOf(other)).toEqual({ device: "e", tool: "gone_0" });
    expect(names.prune("d")).toEqual([]);
    // A tool that comes back gets its name again.
    list("d", "kept", "gone_0");
    expect(names.exposed("d", "lamp", "gone_0")).toBe(oldest);
    expect(names.addressOf(oldest)).toEqual({ device: "d", tool: "gone_0" });
  });

  it("are not kept where they follow from the alias and the list", () => {
    const { names, list } = makeNames();
    const alias = names.takeAlias("d", "lamp");
    list("d", "self.lamp.on", "self.lamp.off");
    expect(names.specialNames("d", alias)).toEqual([]);
    expect(names.addressOf("lamp__lamp_on")).toEqual({ device: "d", tool: "self.lamp.on" });
    expect(names.addressOf("lamp__lamp")).toBeUndefined();
    expect(names.addressOf("door__lamp_on")).toBeUndefined();
  });

  it("are kept and restored where they are shortened", () => {
    const { names, lists, list } = makeNames();
    const alias = names.takeAlias("d", "living-room-lamp");
    list("d", longTool, "self.lamp.on");
    const special = names.specialNames("d", alias);
    expect(special).toMatchObject([{ device: "d", tool: longTool }]);
    const later = new Names((device) => lists.get(device));
    later.restoreAliases(new Map([[alias, "d"]]));
    later.restore([...special, { name: "living-room-lamp__lamp_on", device: "d", tool: "self.lamp.on" }]);
    expect(later.addressOf(special[0]?.name ?? "")).toEqual({ device: "d", tool: longTool });
    expect(later.specialNames("d", alias)).toEqual(special);
  });

  it("stay with the tool that had them first, in any order of later lists", () => {
    const { names, list } = makeNames();
    const alias = names.takeAlias("d", "lamp");
    list("d", "self.a.b");
    expect(names.exposed("d", alias, "self.a.b")).toBe("lamp__a_b");
    list("d", "self.a_b", "self.a.b");
    expect(names.exposed("d", alias, "self.a.b")).toBe("lamp__a_b");
    const second = names.exposed("d", alias, "self.a_b");
    expect(second).toMatch(/^lamp__a_b_[0-9a-f]{6}$/);
    expect(names.addressOf("lamp__a_b")?.tool).toBe("self.a.b");
    list("d", "self.a_b");
    expect(names.exposed("d", alias, "self.a_b")).toBe(second);
    expect(names.addressOf("lamp__a_b")?.tool).toBe("self.a.b");
    expect(names.bareAddressOf("d", "a_b")?.tool).toBe("self.a.b");
  });

  it("work under earlier aliases, and end with an alias that another device owns", () => {
    const { names, list } = makeNames();
    names.takeAlias("d", "lamp");
    list("d", "on");
    names.takeAlias("d", "desk");
    expect(names.addressOf("lamp__on")).toEqual({ device: "d", tool: "on" });
    expect(names.addressOf("desk__on")).toEqual({ device: "d", tool: "on" });
    names.releaseAlias("d", "lamp", "e");
    expect(names.addressOf("lamp__on")).toBeUndefined();
    names.forget("d");
    expect(names.addressOf("desk__on")).toBeUndefined();
    expect(names.isFree("desk", "e")).toBe(true);
    expect(names.isFree("lamp", "d")).toBe(false);
  });
});

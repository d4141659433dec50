/** Suggestions in a fleet that is too large to compare every device. */
import { describe, expect, it } from "vitest";
import type { Principal } from "../src/access/principal.ts";
import { systemClock } from "../src/clock.ts";
import { KnownDevices } from "../src/fleet/known-devices.ts";
import { nearDevices } from "../src/fleet/near-devices.ts";

const all: Principal = { id: "a", name: "a", scopes: new Set(["read"]), devices: undefined };

function fleet(hidden: ReadonlySet<string> = new Set()) {
  const known = new KnownDevices("node", systemClock);
  for (let index = 0; index < 1_000; index += 1) {
    const tail = index.toString(16).padStart(4, "0");
    known.recordOf(`02:00:00:00:${tail.slice(0, 2)}:${tail.slice(2)}`, "esp32");
  }
  const looked: string[] = [];
  const near = (reference: string, principal = all) =>
    nearDevices(
      {
        records: known.records,
        deviceOf: (alias) => {
          looked.push(alias);
          return known.names.deviceOf(alias);
        },
        shows: (_principal, { id }) => !hidden.has(id),
      },
      principal,
      reference,
    );
  return { near, looked };
}

describe("in a large fleet", () => {
  it.each([
    ["Device_012A", ["device-012a"]],
    ["devcie-012a", ["device-012a"]],
    ["device-012", ["device-0012", "device-0112", "device-0212"]],
    ["02-00-00-00-01-2g", []],
    ["02:00:00:00:01:2", ["02:00:00:00:00:12", "02:00:00:00:01:12", "02:00:00:00:02:12"]],
    ["2000000012a", ["02:00:00:00:01:2a"]],
    ["lamp", []],
    ["x".repeat(60), []],
  ])("%s gets the suggestions %j", (wanted, near) => {
    expect(fleet().near(wanted)).toEqual(near);
  });

  it("a device is suggested only to callers that may see it", () => {
    const hidden = fleet(new Set(["02:00:00:00:01:2a"]));
    expect(hidden.near("devcie-012a")).toEqual([]);
    expect(hidden.near("2000000012a")).toEqual([]);
  });

  it("a token for a few devices gets more distant suggestions", () => {
    const ids = new Set(["02:00:00:00:01:2a", "02:00:00:00:03:00"]);
    const few: Principal = { ...all, devices: { ids, tags: new Set() } };
    expect(fleet().near("devcie012a", few)).toEqual(["device-012a"]);
  });

  it("a wrong name costs a bounded number of look-ups, however long it is", () => {
    const { near, looked } = fleet();
    for (const reference of ["a".repeat(25), "a".repeat(26), "a".repeat(5_000), "é".repeat(64)])
      near(reference);
    expect(looked.length).toBeLessThan(2_500);
  });
});

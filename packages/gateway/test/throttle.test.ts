import { limits } from "@tendon/protocol";
import { expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { sourceOf, Throttle } from "../src/access/throttle.ts";

it("counts each key separately: a burst, then a slow rate", () => {
  const clock = new ManualClock();
  const throttle = new Throttle(clock, { burst: 3, everyMs: 1_000 });
  expect([1, 2, 3, 4].map(() => throttle.count("one") > 0)).toEqual([false, false, false, true]);
  expect([throttle.waitMs("one"), throttle.waitMs("other")]).toEqual([1_000, 0]);
  clock.advance(600);
  expect(throttle.waitMs("one")).toBe(400);
  clock.advance(400);
  expect([throttle.count("one") > 0, throttle.count("one") > 0]).toEqual([false, true]);
  clock.advance(60_000);
  expect([1, 2, 3, 4].map(() => throttle.count("one") > 0)).toEqual([false, false, false, true]);
});

it("keeps a bounded number of keys, the most recent ones", () => {
  const throttle = new Throttle(new ManualClock(), { burst: 1, everyMs: 1_000 });
  throttle.count("first");
  throttle.count("second");
  for (let index = 0; index < limits.throttledSources.max - 2; index += 1) throttle.count(`more-${index}`);
  throttle.count("first");
  throttle.count("one more");
  expect([throttle.waitMs("first") > 0, throttle.waitMs("second") > 0]).toEqual([true, false]);
});

it.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::6", "2001:db8:1:2::/64"],
  ["2001:0db8:0001:0002::", "2001:db8:1:2::/64"],
  ["2001:db8::6", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["not an address", "not an address"],
  [undefined, ""],
])("%j counts as %j", (address, source) => {
  expect(sourceOf(address)).toBe(source);
});

import { describe, expect, it } from "vitest";
import { FilterTree } from "../src/broker/filter-tree.ts";

const filters = [
  "#",
  "a",
  "a/#",
  "a/+",
  "a/b",
  "a/b/#",
  "a/+/c",
  "+/b/c",
  "a/b/c",
  "a//c",
  "a/+/#",
  "b/#",
  "constructor/#",
];

/** As MQTT 3.1.1 defines it, section 4.7. */
const matches: readonly (readonly [topic: string, filters: readonly string[]])[] = [
  ["a", ["#", "a", "a/#"]],
  ["a/b", ["#", "a/#", "a/+", "a/+/#", "a/b", "a/b/#"]],
  ["a/b/c", ["#", "+/b/c", "a/#", "a/+/#", "a/+/c", "a/b/#", "a/b/c"]],
  ["a/b/c/d", ["#", "a/#", "a/+/#", "a/b/#"]],
  ["a//c", ["#", "a/#", "a/+/#", "a/+/c", "a//c"]],
  ["b", ["#", "b/#"]],
  ["c", ["#"]],
  ["constructor", ["#", "constructor/#"]],
  ["__proto__/x", ["#"]],
  ["A/b", ["#"]],
];

describe("the subscribers of a topic", () => {
  it.each(matches)("%s has those of %j", (topic, expected) => {
    const tree = new FilterTree<string>();
    for (const filter of filters) tree.add(filter, filter);
    expect([...tree.matching(topic)].sort()).toEqual([...expected].sort());
    expect(filters.filter((filter) => tree.matches(topic, filter)).sort()).toEqual([...expected].sort());
  });

  it("are found once, and not at all after their last unsubscribe", () => {
    const tree = new FilterTree<string>();
    for (const filter of ["a/#", "a/b", "+/b"]) tree.add(filter, "app");
    expect([...tree.matching("a/b")]).toEqual(["app"]);
    tree.delete("a/#", "app");
    tree.delete("a/b", "another app");
    expect([...tree.matching("a/b")]).toEqual(["app"]);
    expect(tree.matches("a/b", "app")).toBe(true);
    for (const filter of ["a/b", "+/b", "a/b"]) tree.delete(filter, "app");
    expect([...tree.matching("a/b")]).toEqual([]);
    expect(tree.matches("a/b", "app")).toBe(false);
  });
});

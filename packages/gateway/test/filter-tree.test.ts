import { describe, expect, it } from "vitest";
import { FilterTree } from "../src/broker/filter-tree.ts";
import { filterMatches } from "../src/broker/topic-filter.ts";

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
const topics = ["a", "a/b", "a/b/c", "a/b/c/d", "a//c", "b", "c", "constructor", "__proto__/x", "A/b"];

describe("who has subscribed", () => {
  it.each(topics)("is found for %s as each filter by itself says", (topic) => {
    const tree = new FilterTree<string>();
    for (const filter of filters) tree.add(filter, filter);
    const expected = filters.filter((filter) => filterMatches(filter, topic));
    expect([...tree.matching(topic)].sort()).toEqual(expected.sort());
  });

  it("is found once, and not at all when the last filter is given up", () => {
    const tree = new FilterTree<string>();
    for (const filter of ["a/#", "a/b", "+/b"]) tree.add(filter, "app");
    expect([...tree.matching("a/b")]).toEqual(["app"]);
    tree.delete("a/#", "app");
    tree.delete("a/b", "somebody else");
    expect([...tree.matching("a/b")]).toEqual(["app"]);
    for (const filter of ["a/b", "+/b", "a/b"]) tree.delete(filter, "app");
    expect([...tree.matching("a/b")]).toEqual([]);
  });
});

import type { ToolDefinition } from "@tendon/protocol";
import { expect, it } from "vitest";
import type { DeviceRecord } from "../src/fleet/device-record.ts";
import type { Changes } from "../src/toolset/changes.ts";
import { SearchIndexer } from "../src/toolset/search-indexer.ts";

/** A device with as much text as the gateway accepts for a tool, in the language that takes longest to read. */
function wordyTools(count: number): ToolDefinition[] {
  return Array.from({ length: count }, (_, at) => ({
    name: `tool${at}`,
    description: `${at} ${"tăng âm lượng lên ".repeat(300)}`.slice(0, 4_096),
    inputSchema: { type: "object", properties: {} },
    audience: "agent",
    repairs: [],
  }));
}

it("a device with many long descriptions is indexed in small steps, also when its tools change", async () => {
  let tools = wordyTools(40);
  let count = 1;
  const record = { id: "a", alias: "a", board: "b", tags: [], catalogue: { tools: () => tools } };
  const devices = new Map([["a", record as unknown as DeviceRecord]]);
  const changes = {
    get count() {
      return count;
    },
    since: () => new Set(["a"]),
    subscribe: () => () => undefined,
  } as unknown as Changes;
  const indexer = new SearchIndexer(changes, devices);
  const turnsOf = async () => {
    let [turns, done] = [0, false];
    const turn = () => {
      turns += 1;
      if (!done) setImmediate(turn);
    };
    setImmediate(turn);
    await indexer.current();
    done = true;
    return turns;
  };
  expect(await turnsOf()).toBeGreaterThan(10);
  const found = (await indexer.current()).find({ query: "tool7", limit: 5, wanted: () => true });
  expect(found.map(({ tool }) => tool)).toContain("tool7");
  tools = tools.slice(0, 5);
  count += 1;
  const left = (await indexer.current()).find({ query: "âm lượng", limit: 50, wanted: () => true });
  expect(left.map(({ tool }) => tool).sort()).toEqual(["tool0", "tool1", "tool2", "tool3", "tool4"]);
});

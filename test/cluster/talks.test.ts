/** Talks with voice servers, seen from any node. */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import type { Site } from "../site.ts";
import { boardId, openUpstream, webSocketBoard } from "../voice/voice-site.ts";
import { Engines } from "./nodes.ts";

const engines = new Engines();

async function talks(site: Site): Promise<{ readonly device: string; readonly alias: string }[]> {
  return (await site.rest("GET", "/voice/sessions")).body["sessions"] as never;
}

describe("a talk on another node", () => {
  it("is told at every node, under the board's name, as long as it lasts", async () => {
    const upstream = await openUpstream();
    const config = { voice: { udpPort: 0, upstream: [{ url: upstream.server.url }] } };
    const fleet = await engines.newFleet();
    const [one, two] = await fleet.nodes(2, { config });
    if (one === undefined || two === undefined) throw new TypeError("two nodes were asked for");
    expect(await talks(two)).toEqual([]);
    const board = webSocketBoard(one);
    await board.connect();
    await one.listed(boardId);
    await one.rest("PATCH", `/devices/${boardId}`, { alias: "hallway" });
    await until(async () => (await talks(two))[0]?.alias === "hallway", "the talk at the other node");
    expect(await talks(two)).toEqual([
      expect.objectContaining({ device: boardId, state: expect.any(String) }),
    ]);
    expect((await talks(one)).length).toBe(1);
    await board.stop();
    await until(async () => (await talks(two)).length === 0, "the end of the talk");
  }, 60_000);

  it("is left out when its node has gone, and nobody waits for it", async () => {
    const upstream = await openUpstream();
    const config = { voice: { udpPort: 0, upstream: [{ url: upstream.server.url }] } };
    const fleet = await engines.newFleet();
    const [one, two] = await fleet.nodes(2, { config });
    if (one === undefined || two === undefined) throw new TypeError("two nodes were asked for");
    const board = webSocketBoard(one);
    await board.connect();
    await until(async () => (await talks(two)).length === 1, "the talk at the other node");
    await one.tendon.stop();
    await until(async () => (await talks(two)).length === 0, "the end of the talk");
  }, 60_000);
});

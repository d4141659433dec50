/** Voice sessions, read from any node. */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import type { Site } from "../site.ts";
import { boardId, openUpstream, webSocketBoard } from "../voice/voice-site.ts";
import { Engines } from "./nodes.ts";

const engines = new Engines();

async function talks(site: Site): Promise<{ readonly device: string; readonly alias: string }[]> {
  return (await site.rest("GET", "/voice/sessions")).body["sessions"] as never;
}

describe("a voice session on another node", () => {
  it("is listed on every node with the board's alias while it lasts", async () => {
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

  it("is not listed when its node has failed, and does not delay the list", async () => {
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

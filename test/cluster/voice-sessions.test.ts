/** Voice sessions, read from any node. */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { MqttApp } from "../mqtt-app.ts";
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

  it("[APP-2] finds its board by both session ids, for an app on any node", async () => {
    const theirs = "b3e1bdb3-5584-4476-ac70-b69353046e37_6825ddbb4d44";
    const upstream = await openUpstream({ sessionId: () => theirs });
    const config = { voice: { udpPort: 0, upstream: [{ url: upstream.server.url }] } };
    const fleet = await engines.newFleet();
    const [one, two] = await fleet.nodes(2, { config });
    if (one === undefined || two === undefined) throw new TypeError("two nodes were asked for");
    const board = webSocketBoard(one);
    await board.connect();
    await two.listed(boardId);
    const { sessionId } = board;
    await until(async () => (await talks(two)).length === 1, "the talk at the other node");
    expect(await talks(two)).toMatchObject([{ sessionId, upstreamSessionId: theirs }]);
    expect(await two.device(boardId)).toMatchObject({ sessionId });
    for (const site of [one, two]) {
      const app = await MqttApp.open(site);
      await app.wire.subscribe("tendon/control/reply");
      for (const session_id of [sessionId, theirs, `x_${boardId.replaceAll(":", "")}`]) {
        const message = { action: "set_volume", volume: 20, session_id };
        expect(await app.ask("tendon/control", message)).toMatchObject({ ok: true });
      }
      const wrong = { action: "set_volume", volume: 20, session_id: "no-such-session" };
      expect(await app.ask("tendon/control", wrong)).toMatchObject({ code: "device_unknown" });
    }
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

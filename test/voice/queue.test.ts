import { expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { boardId, openUpstream, openVoiceSite, webSocketBoard } from "./voice-site.ts";

const ring = "self.ring";

it("[QUE-4] calls that waited for a board let its conversation start first, and then go slowly", async () => {
  const clock = new ManualClock();
  const upstream = await openUpstream();
  const site = await openVoiceSite(upstream.server.url, { clock });
  let rung = 0;
  const start = async () => {
    const device = webSocketBoard(site);
    device.addTool(ring, "Rings", {}, () => {
      rung += 1;
      return "rung";
    });
    await device.openAudio();
    await upstream.connections.take();
    await site.listed(boardId);
    return device;
  };
  const first = await start();
  await first.stop();
  await until(async () => (await site.device(boardId))["online"] === false, "the board is offline");
  for (let call = 0; call < 2; call += 1) {
    const at = `/devices/${boardId}/tools/${ring}/call`;
    expect(await site.rest("POST", at, { whenOffline: "queue" })).toMatchObject({ status: 202 });
  }
  await start();
  expect(await site.device(boardId)).toMatchObject({ online: true, waitingCalls: 2 });
  expect(rung).toBe(0);
  clock.advance(1_500);
  await until(() => rung === 1, "the first call");
  await until(async () => (await site.device(boardId))["waitingCalls"] === 1, "its end");
  expect(rung).toBe(1);
  await until(() => {
    clock.advance(200);
    return rung === 2;
  }, "the second call");
});

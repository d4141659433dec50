import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { firmwareHello } from "../raw-device.ts";
import { firstDevice } from "../site.ts";
import { openUpstream, openVoiceSite, webSocketBoard } from "./voice-site.ts";

const ids = { plain: "02:00:00:00:0e:01", tagged: "02:00:00:00:0e:02", own: "02:00:00:00:0e:03" };

describe("the voice server of a board", () => {
  it("is selected by device, then by tag, then by default, at every hello", async () => {
    const [everybody, kitchen, desk] = [await openUpstream(), await openUpstream(), await openUpstream()];
    const site = await openVoiceSite([
      { url: everybody.server.url },
      { url: kitchen.server.url, tag: "kitchen" },
      { url: desk.server.url, device: "desk" },
    ]);
    const talksTo = async (id: string, upstream: typeof everybody) => {
      const device = webSocketBoard(site, { id });
      await device.connect();
      expect((await upstream.connections.take()).device).toBe(id);
      await device.stop();
    };
    for (const id of Object.values(ids)) await talksTo(id, everybody);
    await site.rest("PATCH", `/devices/${ids.tagged}`, { tags: ["hall", "kitchen"] });
    await site.rest("PATCH", `/devices/${ids.own}`, { alias: "desk", tags: ["kitchen"] });
    await talksTo(ids.plain, everybody);
    await talksTo(ids.tagged, kitchen);
    await talksTo(ids.own, desk);
  });

  it("can be none: the board is then for tools only", async () => {
    const upstream = await openUpstream();
    const clock = new ManualClock();
    const site = await openVoiceSite([{ url: upstream.server.url, tag: "kitchen" }], { clock });
    const overWebSocket = await site.connect();
    overWebSocket.send(firmwareHello);
    await overWebSocket.nextFrame("hello");
    expect((await overWebSocket.nextFrame("alert"))["status"]).toBe("Tools only");
    await overWebSocket.setUp();
    overWebSocket.cut();
    await until(async () => (await site.device(firstDevice))["online"] === false, "the board to be gone");

    const overMqtt = await site.join({ transport: mqttTransport });
    overMqtt.send({ ...firmwareHello, version: 3, transport: "udp" });
    const hello = await overMqtt.nextFrame("hello");
    expect(hello["udp"]).toMatchObject({ port: expect.any(Number), nonce: expect.stringMatching(/^01/) });
    expect((await overMqtt.nextFrame("alert"))["status"]).toBe("Tools only");
    await overMqtt.setUp();
    clock.advance(3_000);
    expect((await overMqtt.nextFrame("goodbye"))["session_id"]).toBe(hello["session_id"]);
    expect(upstream.server.connections.size).toBe(0);
  });

  it("is not selected for a board without audio", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = await site.connect();
    const { audio_params: _, ...silent } = firmwareHello;
    device.send(silent);
    await device.nextFrame("hello");
    await device.setUp();
    expect(upstream.server.connections.size).toBe(0);
  });
});

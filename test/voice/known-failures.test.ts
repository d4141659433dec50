/**
 * Known failures of such relays, each as a test: a bad frame that ends the process, leaked connections to the voice
 * server, an empty tool list after the hello, missing tools beyond a limit, a downlink that can be hijacked
 * (udp.test.ts), an endless wait for a hello (faults.test.ts).
 */
import { describe, expect, it, test } from "vitest";
import { until } from "../inbox.ts";
import { askForSettings, MqttRefused, MqttWire, mqttTransport } from "../mqtt-wire.ts";
import { firmwareHello, type RawDevice, tool } from "../raw-device.ts";
import { firstDevice, type Site } from "../site.ts";
import {
  boardId,
  mqttBoard,
  openUpstream,
  openVoiceSite,
  talk,
  type Upstream,
  webSocketBoard,
} from "./voice-site.ts";

const udpHello = { ...firmwareHello, version: 3, transport: "udp" };

/** A raw board over MQTT that has sent hello before any request. */
async function greeted(site: Site, upstream: Upstream) {
  const device: RawDevice = await site.connect({ transport: mqttTransport });
  device.send(udpHello);
  await until(() => device.wire.untaken.some((text) => text.includes('"type":"hello"')), "the hello");
  return { device, connection: await upstream.connections.take() };
}

describe("a relay", () => {
  test.each([
    [
      "a text that is not JSON",
      (connection: { sayRaw(text: string): void }) => connection.sayRaw("token invalid"),
    ],
    [
      "half a JSON text",
      (connection: { sayRaw(text: string): void }) => connection.sayRaw('{"type":"tts","sta'),
    ],
    [
      "JSON that is nested without end",
      (connection: { sayRaw(text: string): void }) =>
        connection.sayRaw(`{"type":"tts","state":${"[".repeat(100_000)}${"]".repeat(100_000)}}`),
    ],
    [
      "an empty audio frame",
      (connection: { sayAudio(packet: Uint8Array): void }) => connection.sayAudio(new Uint8Array(0)),
    ],
    [
      "a huge audio frame",
      (connection: { sayAudio(packet: Uint8Array): void }) => connection.sayAudio(new Uint8Array(60_000)),
    ],
  ])("tolerates %s from a voice server", async (_, say) => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const boards = [webSocketBoard(site), mqttBoard(site, { id: "02:00:00:00:0a:02" })];
    for (const device of boards) {
      await device.connect();
      const opened = device.openAudio();
      const connection = await upstream.connections.take();
      await opened;
      say(connection);
      // The conversation continues.
      connection.say({ type: "stt", text: "still here" });
      await device.waitFor("message", ({ fields }) => fields["text"] === "still here");
      await site.listed(device.id);
      expect((await site.call(device.id, "self.get_device_status")).status).toBe(200);
    }
  });

  it("leaves no connection to the voice server, however boards disconnect", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const ways = [
      (device: ReturnType<typeof mqttBoard>) => device.disconnect(),
      (device: ReturnType<typeof mqttBoard>) => device.reboot(),
      (device: ReturnType<typeof mqttBoard>) => void device.stop(),
      (device: ReturnType<typeof mqttBoard>) => void device.closeAudio(),
    ];
    for (const [index, leave] of ways.entries()) {
      for (const make of [webSocketBoard, mqttBoard]) {
        const device = make(site, { id: `02:00:00:00:0c:0${index}` });
        await device.connect();
        const { connection } = await talk(device, upstream);
        leave(device);
        await connection.ended;
      }
    }
    expect(upstream.server.connections.size).toBe(0);
    await until(async () => (await site.metric("tendon_voice_sessions")) === 0, "no conversation");
  });

  it("fails a call at once when its board disconnects during a conversation", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = webSocketBoard(site);
    device.addTool(
      "self.never",
      "Never answers",
      {},
      async () => await new Promise<boolean>(() => undefined),
    );
    await device.connect();
    const connection = await upstream.connections.take();
    await site.listed(boardId);
    const called = device.waitFor("call");
    const agents = site.call(boardId, "self.never");
    await called;
    const before = performance.now();
    void device.stop();
    expect((await agents).status).toBe(502);
    expect(performance.now() - before).toBeLessThan(5_000);
    await connection.ended;
  });

  it("sends no empty tool list to a voice server that asks before the board is listed", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const { device, connection } = await greeted(site, upstream);
    // The server has asked; the board has not answered yet.
    await until(() => connection.received.length > 0, "the hello");
    expect(connection.mcp.tools).toEqual([]);
    const listed = connection.mcp.request("tools/list");
    while (device.wire.untaken.some((text) => text.includes('"hello"'))) {
      const frame = JSON.parse(await device.wire.nextText()) as { type: string; payload?: { id: number } };
      if (frame.type === "mcp") {
        // From the setup that started with the connection and restarts with the hello.
        device.reply(frame.payload?.id ?? 0, {});
      }
    }
    await device.setUp({ tools: [tool("first"), tool("second")] });
    const names = ((await listed).result as { tools: { name: string }[] }).tools.map(({ name }) => name);
    expect(names).toEqual(["first", "second"]);
  });

  it("sends no goodbye to a board that answers late or sends notifications", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    device.notify("notifications/state_changed", { on: true });
    device.reply(12_345, { content: [] });
    expect(await device.quiet()).toEqual([]);
  });

  it("opens no connection for a board that has not signed in", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url, { config: { devices: { admission: "closed" } } });
    const settings = { ...site.tendon.provision(firstDevice, "a-client-id").mqtt };
    for (const wrong of [
      { ...settings, client_id: settings.client_id.split("@@@").slice(0, 2).join("@@@") },
      { ...settings, password: "" },
      { ...settings, password: "wrong" },
    ]) {
      await expect(MqttWire.open(wrong)).rejects.toBeInstanceOf(MqttRefused);
    }
    await expect(
      site.connect({ token: "wrong" }).then((device) => device.send(firmwareHello)),
    ).rejects.toThrow(/refused/);
    expect(upstream.connections.waiting).toEqual([]);
    expect(upstream.server.connections.size).toBe(0);
    await expect(
      askForSettings(site.url, { deviceId: firstDevice, clientId: "another" }),
    ).resolves.toBeUndefined();
  });
});

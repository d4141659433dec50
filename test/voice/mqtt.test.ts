import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import {
  boardId,
  directBoard,
  mqttBoard,
  openUpstream,
  openVoiceSite,
  receivedBy,
  talk,
} from "./voice-site.ts";

/** Texts and audio use different paths, each in order. The hellos differ with the transports. */
function apart(said: readonly string[]): { texts: string[]; audio: string[] } {
  return {
    texts: said.filter((text) => !text.startsWith("audio") && !text.includes('"type":"hello"')),
    audio: said.filter((text) => text.startsWith("audio")),
  };
}

describe("a board over MQTT with audio over UDP", () => {
  it.each([1, 2, 3] as const)(
    "[VOI-4][UDP-1] talks to a voice server that wants framing %s as a board over WebSocket does, byte for byte",
    async (framing) => {
      const upstream = await openUpstream({ sessionId: () => "a-name-of-the-server" });
      const without = await talk(directBoard(upstream.server, { version: framing }), upstream);
      const site = await openVoiceSite([{ url: upstream.server.url, framing }]);
      const device = mqttBoard(site);
      await device.connect();
      const withIt = await talk(device, upstream);
      expect(apart(receivedBy(withIt.connection))).toEqual(apart(receivedBy(without.connection)));
      expect(apart(withIt.ear.said)).toEqual(apart(without.ear.said));
      expect(apart(withIt.ear.said).audio.length).toBe(80);
      expect(withIt.connection.headers["protocol-version"]).toBe(String(framing));
      expect(withIt.connection.headers["device-id"]).toBe(boardId);
    },
  );

  it("[VOI-2] appears to the voice server as a board over WebSocket", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = mqttBoard(site);
    await device.connect();
    const { connection } = await talk(device, upstream);
    const [hello = ""] = receivedBy(connection);
    expect(JSON.parse(hello)).toMatchObject({
      type: "hello",
      version: 1,
      transport: "websocket",
      features: { mcp: true },
      audio_params: { format: "opus", sample_rate: 16_000, channels: 1, frame_duration: 60 },
    });
  });

  it("[VOI-8] stays connected for its tools after its goodbye, and the voice server is disconnected", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = mqttBoard(site);
    await device.connect();
    const { connection } = await talk(device, upstream);
    await device.closeAudio();
    await connection.ended;
    expect(upstream.server.connections.size).toBe(0);
    expect((await site.call(boardId, "self.audio_speaker.set_volume", { volume: 12 })).status).toBe(200);
    // And it can start another conversation.
    await talk(device, upstream);
  });

  it("[VOI-8] gets a goodbye when the voice server ends the conversation, and can start another", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = mqttBoard(site);
    await device.connect();
    const { connection, ear } = await talk(device, upstream);
    const closed = device.waitFor("audio-closed");
    connection.close();
    expect((await closed).by).toBe("server");
    expect(device.phase).toBe("idle");
    expect(ear.said.join(" ")).not.toContain('"alert"');
    await talk(device, upstream);
  });

  it("a second hello starts a new session, which the end of the first does not affect", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = mqttBoard(site);
    await device.connect();
    const first = await talk(device, upstream);
    // The board considers its session closed without a goodbye, as after a restart.
    device.reboot();
    await device.connect();
    const second = await talk(device, upstream);
    await first.connection.ended;
    expect(upstream.server.connections.size).toBe(1);
    expect([...upstream.server.connections][0]).toBe(second.connection);
  });

  it("disconnects the voice server when its connection is lost, and gets a goodbye when it reconnects", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = mqttBoard(site);
    await device.connect();
    const { connection } = await talk(device, upstream);
    await site.rest("DELETE", `/devices/${boardId}`);
    await connection.ended;
    await until(async () => (await site.metric("tendon_voice_sessions")) === 0, "no conversation");
  });
});

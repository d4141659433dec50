import { describe, expect, it } from "vitest";
import { unusedName } from "../access/tokens.ts";
import { until } from "../inbox.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import type { Site } from "../site.ts";
import { boardId, mqttBoard, openUpstream, openVoiceSite, talk, webSocketBoard } from "./voice-site.ts";

interface Session {
  readonly device: string;
  readonly state: string;
  readonly up: { readonly packets: number; readonly lost: number };
}

async function sessions(site: Site, token?: string): Promise<Session[]> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { body } = await site.rest("GET", "/voice/sessions", undefined, headers);
  return body["sessions"] as unknown as Session[];
}

async function tokenFor(site: Site, scopes: string[], ids?: string[]): Promise<string> {
  const devices = ids === undefined ? {} : { devices: { ids } };
  const { body } = await site.rest("POST", "/tokens", {
    name: unusedName(site, "reader"),
    scopes,
    ...devices,
  });
  return String(body["token"]);
}

describe("active conversations", () => {
  it.each(["websocket", "mqtt"] as const)(
    "are listed with statistics over REST: a board over %s",
    async (transport) => {
      const upstream = await openUpstream();
      const site = await openVoiceSite(upstream.server.url);
      expect(await sessions(site)).toEqual([]);
      const device = transport === "mqtt" ? mqttBoard(site) : webSocketBoard(site);
      await device.connect();
      const { connection } = await talk(device, upstream);
      await connection.mcp.call("self.audio_speaker.set_volume", { volume: 1 });
      expect(await sessions(site)).toEqual([
        {
          device: boardId,
          alias: expect.any(String),
          transport,
          sessionId: device.sessionId,
          upstreamSessionId: connection.sessionId,
          upstream: new URL(upstream.server.url).host,
          state: expect.stringMatching(/^(idle|listening)$/),
          startedAt: expect.stringMatching(/Z$/),
          calls: 1,
          up: { packets: 40, bytes: expect.any(Number), lost: 0, jitterMs: expect.any(Number) },
          down: { packets: 80, bytes: expect.any(Number), lost: 0, jitterMs: expect.any(Number) },
        },
      ]);
      await device.closeAudio();
      await until(async () => (await sessions(site)).length === 0, "no conversation");
    },
  );

  it("are listed with the scope read, for visible devices", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    await webSocketBoard(site).connect();
    await upstream.connections.take();
    expect((await sessions(site, await tokenFor(site, ["read"]))).length).toBe(1);
    expect((await sessions(site, await tokenFor(site, ["read"], [boardId]))).length).toBe(1);
    expect(await sessions(site, await tokenFor(site, ["read"], ["02:00:00:00:00:99"]))).toEqual([]);
    const { status } = await site.rest("GET", "/voice/sessions", undefined, {
      authorization: `Bearer ${await tokenFor(site, ["call"])}`,
    });
    expect(status).toBe(403);
  });

  it("[VOI-10] start and end with an event that has the voice server but no content", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const events = await site.events("?type=voice.started,voice.ended");
    const device = mqttBoard(site);
    await device.connect();
    await talk(device, upstream);
    const host = new URL(upstream.server.url).host;
    expect(await events.next()).toMatchObject({ type: "voice.started", device: boardId });
    await device.closeAudio();
    const ended = await events.next();
    expect(ended).toMatchObject({ type: "voice.ended", device: boardId });
    expect(events.seen.map(({ data }) => data)).toEqual([
      { upstream: host },
      { upstream: host, kind: "left" },
    ]);
  });

  it("are empty without a voice server", async () => {
    const site = await openVoiceSite([]);
    const device = await site.join({ transport: mqttTransport });
    expect(device.id).toBeDefined();
    expect(await sessions(site)).toEqual([]);
  });
});

describe("the content of a conversation", () => {
  const sentence = "a private sentence";

  async function framesAfterTalk(keepTexts: boolean): Promise<string> {
    const upstream = await openUpstream({ script: { sentences: [sentence], recognizedText: sentence } });
    const site = await openVoiceSite(upstream.server.url, { config: { voice: { keepTexts } } });
    const device = mqttBoard(site);
    await device.connect();
    await talk(device, upstream);
    return (await site.rest("GET", `/devices/${boardId}/frames`)).text;
  }

  it("is not in the recorded frames of a device, nor is its audio key", async () => {
    const frames = await framesAfterTalk(false);
    expect(frames).toContain("tts");
    expect(frames).toContain("sentence_start");
    expect(frames).not.toContain(sentence);
    expect(frames).not.toContain("hello there");
    expect(frames).not.toMatch(/\\"key\\":\\"[0-9a-f]{32}/);
  });

  it("is recorded if configured, without the key", async () => {
    const frames = await framesAfterTalk(true);
    expect(frames).toContain(sentence);
    expect(frames).not.toMatch(/\\"key\\":\\"[0-9a-f]{32}/);
  });
});

import type { VirtualDevice, VoiceServerOptions } from "@tendon/simulator";
import { describe, expect, it, test } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import type { Site } from "../site.ts";
import {
  ask,
  boardId,
  mqttBoard,
  openUpstream,
  openVoiceSite,
  type Upstream,
  webSocketBoard,
} from "./voice-site.ts";

const volume = "self.audio_speaker.set_volume";
const transports = ["websocket", "mqtt"] as const;

interface Scene {
  readonly clock: ManualClock;
  readonly site: Site;
  readonly upstream: Upstream;
  readonly device: VirtualDevice;
  /** The texts of the shown alerts. */
  readonly alerts: string[];
  readonly said: string[];
}

async function scene(
  transport: (typeof transports)[number],
  options: VoiceServerOptions,
  url?: string,
): Promise<Scene> {
  const clock = new ManualClock();
  const upstream = await openUpstream(options);
  const site = await openVoiceSite(url ?? upstream.server.url, { clock });
  const device = transport === "mqtt" ? mqttBoard(site) : webSocketBoard(site);
  const alerts: string[] = [];
  const said: string[] = [];
  device.on("message", ({ type, fields }) => {
    said.push(`${type} ${fields["state"] ?? ""}`.trim());
    if (type === "alert") alerts.push(fields["message"] ?? "");
  });
  if (transport === "mqtt") await device.connect();
  return { clock, site, upstream, device, alerts, said };
}

/** Checks that the tools work at once. */
async function usable(site: Site): Promise<void> {
  await site.listed(boardId);
  expect((await site.call(boardId, volume, { volume: 20 })).status).toBe(200);
}

/** Advances the clock until the board is idle. Its tools work before and, if its transport allows, after. */
async function comesToRest({ clock, site, device, upstream }: Scene): Promise<void> {
  await usable(site);
  clock.advance(3_000);
  await until(() => device.phase === "idle", "the board at rest");
  if (device.connected) await usable(site);
  await until(() => upstream.server.connections.size === 0, "no connection to the server");
  await until(async () => (await site.metric("tendon_voice_sessions")) === 0, "no conversation");
}

describe.each(transports)("a voice server that fails a board over %s", (transport) => {
  test.each([
    ["refuse", "The voice server rejected this device."],
    ["refuse-in-words", "The voice server rejected this device."],
    ["leave-before-hello", "The voice server rejected this device."],
  ])(
    "[VOI-9] by the fault %s: the board shows an alert, becomes idle, and its tools work",
    async (fault, words) => {
      const all = await scene(transport, { faults: [fault] });
      await all.device.openAudio();
      await until(() => all.alerts.length > 0, "the alert");
      expect(all.alerts).toEqual([words]);
      await comesToRest(all);
    },
  );

  it("[VOI-9] by being unreachable: the gateway retries, and then the board shows an alert", async () => {
    const gone = await openUpstream();
    const { url } = gone.server;
    await gone.server.stop();
    const all = await scene(transport, {}, url);
    const opened = all.device.openAudio();
    // The pauses between attempts are random, and never longer than this.
    await until(() => {
      all.clock.advance(500);
      return all.alerts.length > 0;
    }, "the alert");
    await opened;
    expect(all.alerts).toEqual(["The voice server cannot be reached. Try again later."]);
    await comesToRest(all);
  });

  it("[VOI-9] by being unreachable for a moment: the gateway retries, and the conversation starts", async () => {
    const gone = await openUpstream();
    const { url } = gone.server;
    await gone.server.stop();
    const all = await scene(transport, {}, url);
    const opened = all.device.openAudio();
    await until(() => all.clock.pending > 0, "an attempt");
    const back = await openUpstream({ port: Number(new URL(url).port) });
    await until(() => {
      all.clock.advance(100);
      return back.server.connections.size > 0;
    }, "another attempt");
    await opened;
    await ask(all.device, await back.connections.take());
    expect(all.alerts).toEqual([]);
  });

  it("[VOI-2] by not answering: the board gets its hello before it times out", async () => {
    const all = await scene(transport, { faults: ["silent"] });
    const opened = all.device.openAudio();
    const connection = await all.upstream.connections.take();
    await until(() => connection.received.length > 0, "the hello");
    all.clock.advance(7_900);
    expect(all.alerts).toEqual([]);
    all.clock.advance(200);
    await opened;
    await until(() => all.alerts.length > 0, "the alert");
    expect(all.alerts).toEqual(["The voice server does not answer. Try again later."]);
    await connection.ended;
    await comesToRest(all);
  });

  it("[VOI-2] by being slow: the board waits, and the conversation starts", async () => {
    const all = await scene(transport, {
      faults: ["slow-hello"],
      clock: {
        now: () => 0,
        after: (_, run) => {
          const timer = setTimeout(run, 200);
          return { cancel: () => clearTimeout(timer) };
        },
      },
    });
    await all.device.openAudio();
    await ask(all.device, await all.upstream.connections.take());
    expect(all.alerts).toEqual([]);
  });

  it.each([
    ["close-mid-sentence", "The voice server ended the conversation."],
    ["drop-mid-sentence", "The connection to the voice server was lost. Try again."],
  ])("[VOI-9] by %s: the board stops speaking and shows an alert", async (fault, words) => {
    const all = await scene(transport, { faults: [fault] });
    await all.device.openAudio();
    const connection = await all.upstream.connections.take();
    await until(() => connection.listening, "the board to listen");
    await all.device.speak({ paceMs: 0 });
    await until(() => all.alerts.length > 0, "the alert");
    expect(all.alerts).toEqual([words]);
    expect(all.said.slice(-2)).toEqual(["tts stop", "alert"]);
    await comesToRest(all);
  });

  it("[VOI-4] by garbage in between: none of it reaches the board, and the conversation continues", async () => {
    const all = await scene(transport, { faults: ["garbage"] });
    let ignored = 0;
    all.device.on("frame-ignored", () => {
      ignored += 1;
    });
    await all.device.openAudio();
    const connection = await all.upstream.connections.take();
    for (let round = 0; round < 3; round += 1) await ask(all.device, connection);
    for (const text of ["", "{", "null", "[]", '"type"', "{}", '{"type":7}', '{"type":"hello"}', "\u0000"]) {
      connection.sayRaw(text);
    }
    await ask(all.device, connection);
    expect(ignored).toBe(0);
    expect(all.alerts).toEqual([]);
    expect(await all.site.metric('tendon_odd_frames_total{outcome="voice"}')).toBeGreaterThan(10);
  });

  it("[VOI-5] by flooding: it is disconnected, and the board shows an alert", async () => {
    const all = await scene(transport, { faults: ["flood"] });
    await all.device.openAudio();
    const connection = await all.upstream.connections.take();
    await until(() => connection.listening, "the board to listen");
    await all.device.speak({ paceMs: 0 });
    await until(() => all.alerts.length > 0, "the alert");
    expect(all.alerts).toEqual(["The voice server sends too much. The conversation was ended."]);
    await connection.ended;
    await comesToRest(all);
  });
});

describe("a board over WebSocket whose button is pressed to talk", () => {
  it("[VOI-8] stays connected when its server disconnects, and starts a new conversation", async () => {
    const { device, upstream, site, alerts } = await scene("websocket", {});
    await device.openAudio();
    const first = await upstream.connections.take();
    await until(() => first.listening, "the board to listen");
    device.startListening("manual");
    device.stopListening();
    const silent = device.waitFor("phase", ({ previous }) => previous === "speaking");
    await silent;
    expect(device.phase).toBe("idle");
    first.close();
    await first.ended;
    await usable(site);
    expect(device.connected).toBe(true);

    device.startListening("manual");
    await device.speak({ paceMs: 0 });
    const answered = device.waitFor("phase", ({ previous }) => previous === "speaking");
    device.stopListening();
    const second = await upstream.connections.take();
    await answered;
    expect(alerts).toEqual([]);
    expect(second.packetsHeard).toBe(20);
    const texts = second.received.flatMap((item) => (item.kind === "text" ? [item.text] : []));
    expect(texts.filter((text) => text.includes('"hello"')).length).toBe(1);
    expect(texts.find((text) => text.includes('"start"'))).toContain(`"session_id":"${second.sessionId}"`);
  });
});

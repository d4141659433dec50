import { type BoardConnection, chime } from "@tendon/simulator";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { firmwareHello, type RawDevice } from "../raw-device.ts";
import { firstDevice, type SiteOptions } from "../site.ts";
import type { WebSocketWire } from "../websocket-wire.ts";
import { openUpstream, openVoiceSite } from "./voice-site.ts";

/** A raw board that has sent hello through the gateway, and its voice server's connection. */
async function talking(faults: string[], options: SiteOptions = {}) {
  const upstream = await openUpstream({ faults, record: false, script: { questionPackets: 1_000_000 } });
  const site = await openVoiceSite(upstream.server.url, options);
  const device: RawDevice = await site.connect();
  device.send(firmwareHello);
  await device.nextFrame("hello");
  const connection: BoardConnection = await upstream.connections.take();
  await device.setUp();
  await site.listed(firstDevice);
  return { site, upstream, device, connection, socket: (device.wire as WebSocketWire).socket };
}

describe("a peer that does not read", () => {
  it("[VOI-5] as a board, delays its server; nothing is lost, and everything arrives when it reads again", async () => {
    const { connection, socket, site } = await talking([]);
    const packets = 2_500;
    let came = 0;
    let intact = true;
    socket.on("message", (data: Buffer, isBinary: boolean) => {
      if (!isBinary) return;
      intact &&= data.equals(large(came));
      came += 1;
    });
    socket.pause();
    for (let count = 0; count < packets; count += 1) connection.sayAudio(large(count));
    // Agents are not delayed by it.
    expect((await site.device(firstDevice))["online"]).toBe(true);
    await until(async () => (await sent(site)) > 200, "what the gateway takes in");
    socket.resume();
    await until(() => came === packets, "every packet");
    expect(intact).toBe(true);
  });

  it("[VOI-5] as a server, loses audio, and is disconnected in the end", async () => {
    const clock = new ManualClock();
    const { device, connection, site } = await talking(["deaf"], { clock });
    // As much as a board may send.
    const frame = Buffer.alloc(640, 7);
    const voices = "tendon_voice_sessions";
    let told: string | undefined;
    await until(async () => {
      for (let count = 0; count < 200; count += 1) device.wire.sendBinary(frame);
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
      clock.advance(1_100);
      told = device.wire.untaken.find((text) => text.includes('"alert"'));
      return told !== undefined;
    }, "the alert");
    expect(told).toContain("The voice server is too slow");
    clock.advance(3_000);
    expect((await device.wire.ended).code).toBe(1000);
    clock.advance(2_000);
    await until(async () => (await site.metric(voices)) === 0, "no conversation");
    connection.drop();
  });
});

/** Packets of the maximum size, each unique. */
function large(count: number): Buffer {
  const packet = Buffer.alloc(4_000, chime[count % chime.length]);
  packet.writeUInt32BE(count, 100);
  return packet;
}

async function sent(site: Awaited<ReturnType<typeof openVoiceSite>>): Promise<number> {
  const { body } = await site.rest("GET", "/voice/sessions");
  const sessions = (body["sessions"] ?? []) as unknown as { down: { packets: number } }[];
  return sessions[0]?.down.packets ?? 0;
}

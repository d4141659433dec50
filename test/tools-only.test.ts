/** Boards that start a conversation with a gateway without a voice server [DEV-22, MQT-8]. */
import { VirtualDevice } from "@tendon/simulator";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { mqttTransport } from "./mqtt-wire.ts";
import { type Fields, firmwareHello, type RawDevice, textContent, tool } from "./raw-device.ts";
import { type Site, startSite } from "./site.ts";

const opus = Buffer.from([1, 2, 3, 4, 5]);
const offer = { tools: [tool("a"), tool("b")] };

const clock = new ManualClock();
let site: Site;
let boards = 0;

beforeAll(async () => {
  site = await startSite({ clock });
});

afterAll(async () => {
  await site.stop();
});

function nextId(): string {
  boards += 1;
  return `02:00:00:00:7a:${boards.toString(16).padStart(2, "0")}`;
}

function listen(device: RawDevice, state: string, mode?: string): void {
  device.send({
    session_id: device.sessionId,
    type: "listen",
    state,
    ...(mode === undefined ? {} : { mode }),
  });
}

/** Resolves when the gateway has read everything that the device sent, and sends nothing. */
async function heard(device: RawDevice): Promise<void> {
  expect(await device.quiet()).toEqual([]);
}

async function online(device: RawDevice): Promise<unknown> {
  return (await site.device(device.id))["online"];
}

describe("a board over WebSocket that starts a conversation", () => {
  /** Connected to talk: the board listens, and its microphone is on. */
  async function talking(mode = "auto"): Promise<RawDevice> {
    const device = await site.connect({ deviceId: nextId() });
    await device.greet();
    listen(device, "start", mode);
    device.wire.sendBinary(opus);
    return device;
  }

  it.each(["auto", "realtime"])("[DEV-22] in mode %s stops listening 3 s after the alert", async (mode) => {
    const device = await talking(mode);
    await device.setUp(offer);
    await site.listed(device.id);
    await heard(device);
    clock.advance(2_999);
    await heard(device);
    clock.advance(1);
    expect((await device.wire.ended).code).toBe(1000);
    const { lastDisconnect } = await site.device(device.id);
    expect(lastDisconnect).toMatchObject({ reason: expect.stringContaining("no voice server") });
  });

  it("[DEV-22] is listed first, and waiting calls run", async () => {
    const device = await talking();
    const waiting = [site.call(device.id, "a"), site.call(device.id, "b")];
    const { id } = await device.nextRequest("initialize");
    await heard(device);
    clock.advance(8_000);
    device.reply(id, { serverInfo: { name: "raw-board", version: "1.0.0" } });
    await device.list(offer.tools);
    for (const answer of waiting) {
      const request = await device.nextRequest("tools/call");
      clock.advance(4_000);
      device.reply(request.id, textContent("done"));
      expect((await answer).status).toBe(200);
    }
    await heard(device);
    clock.advance(1_000);
    expect((await device.wire.ended).code).toBe(1000);
  });

  it("[DEV-22] stops listening 30 s after the alert, whatever still runs", async () => {
    const device = await talking();
    await device.setUp(offer);
    await site.listed(device.id);
    const running = site.call(device.id, "a", {}, { timeoutMs: 60_000 });
    await device.nextRequest("tools/call");
    clock.advance(29_999);
    await heard(device);
    clock.advance(1);
    expect((await device.wire.ended).code).toBe(1000);
    expect((await running).body).toMatchObject({ code: "device_disconnected", sent: true });
  });

  it.each([
    ["says no more than hello", () => undefined],
    ["says that it listens and sends no audio", (device: RawDevice) => listen(device, "start", "auto")],
    [
      "listens while its button is pressed",
      (device: RawDevice) => {
        listen(device, "start", "manual");
        device.wire.sendBinary(opus);
      },
    ],
    [
      "has stopped to listen",
      (device: RawDevice) => {
        listen(device, "start", "auto");
        device.wire.sendBinary(opus);
        listen(device, "stop");
      },
    ],
  ])("[DEV-22] stays connected when it %s", async (_, act) => {
    const device = await site.join({ deviceId: nextId(), ...offer });
    act(device);
    await heard(device);
    clock.advance(29_000);
    await heard(device);
    clock.advance(29_000);
    await heard(device);
    expect(await online(device)).toBe(true);
    device.cut();
  });

  it("[DEV-22] gets the alert again when it talks again on the same connection", async () => {
    const device = await site.join({ deviceId: nextId(), ...offer });
    for (let press = 0; press < 2; press += 1) {
      clock.advance(10_000);
      listen(device, "start", "manual");
      for (let count = 0; count < 3; count += 1) device.wire.sendBinary(opus);
      expect((await device.nextFrame("alert"))["status"]).toBe("Tools only");
      listen(device, "stop");
      await heard(device);
    }
    device.cut();
  });
});

describe("a board over MQTT that starts a conversation", () => {
  const hello: Fields = { ...firmwareHello, version: 3, transport: "udp" };

  async function greeted(): Promise<{ device: RawDevice; sessionId: unknown }> {
    const device = await site.join({ transport: mqttTransport, deviceId: nextId(), ...offer });
    const { session_id: sessionId } = await device.sayHello(hello);
    await device.setUp(offer);
    await heard(device);
    return { device, sessionId };
  }

  it("[MQT-8] shows the alert for 3 s before the goodbye clears its screen", async () => {
    const { device, sessionId } = await greeted();
    clock.advance(2_999);
    await heard(device);
    clock.advance(1);
    expect(await device.nextFrame("goodbye")).toEqual({ type: "goodbye", session_id: sessionId });
    await heard(device);
    clock.advance(30_000);
    await heard(device);
    device.cut();
  });

  it("[MQT-8] gets no goodbye when it sends one itself", async () => {
    const { device, sessionId } = await greeted();
    device.send({ type: "goodbye", session_id: sessionId });
    await heard(device);
    clock.advance(10_000);
    await heard(device);
    device.cut();
  });

  it("[MQT-8] gets only the goodbye of its latest session", async () => {
    const { device } = await greeted();
    clock.advance(2_000);
    const { session_id: second } = await device.sayHello(hello);
    await device.setUp(offer);
    clock.advance(2_999);
    await heard(device);
    clock.advance(1);
    expect(await device.nextFrame("goodbye")).toEqual({ type: "goodbye", session_id: second });
    device.cut();
  });
});

describe("a virtual board over WebSocket", () => {
  async function connected(): Promise<VirtualDevice> {
    const id = nextId();
    const url = site.tendon.addresses.deviceWebSocket;
    const device = new VirtualDevice({ url, board: { mac: id }, autoReconnect: false });
    onTestFinished(() => device.stop());
    await device.connect();
    await site.listed(id);
    return device;
  }

  it("[DEV-22] stays connected while it is silent", async () => {
    const device = await connected();
    for (let count = 0; count < 4; count += 1) {
      clock.advance(20_000);
      await site.call(device.id, "self.get_device_status");
    }
    expect(device.connected).toBe(true);
  });

  it("[DEV-22] is idle after it has spoken", async () => {
    const device = await connected();
    expect(device.phase).toBe("listening");
    device.sendAudio(opus);
    await until(async () => (await site.device(device.id))["droppedAudioFrames"] === 1, "the audio");
    clock.advance(3_000);
    await until(() => !device.connected, "the end of the talk");
    expect(device.phase).toBe("idle");
  });
});

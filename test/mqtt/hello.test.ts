import dgram from "node:dgram";
import mqttPacket from "mqtt-packet";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { askForSettings, dial, type MqttSettings, mqttTransport } from "../mqtt-wire.ts";
import { type Fields, type Frame, type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";

const dropped = "tendon_audio_frames_dropped_total";

function hello(transport: string, more: Fields = {}): Fields {
  return {
    type: "hello",
    version: 3,
    transport,
    features: { mcp: true },
    audio_params: { format: "opus", sample_rate: 16000, channels: 1, frame_duration: 60 },
    ...more,
  };
}

/** Sends hello and reads the answer and the alert. */
async function greet(device: RawDevice, said = hello("udp")): Promise<{ answer: Frame; alert: Frame }> {
  device.send(said);
  const answer = await device.nextFrame("hello");
  const alert = await device.nextFrame("alert");
  return { answer, alert };
}

async function called(site: Site, device: RawDevice): Promise<void> {
  const running = site.call(device.id, "a");
  device.reply((await device.nextRequest("tools/call")).id, textContent("done"));
  expect((await running).body["result"]).toEqual(textContent("done"));
}

function connectPacket({ client_id: clientId, username, password }: MqttSettings): Buffer {
  return mqttPacket.generate({
    cmd: "connect",
    protocolId: "MQTT",
    protocolVersion: 4,
    clean: true,
    clientId,
    username,
    password: Buffer.from(password),
    keepalive: 60,
  });
}

async function sendDatagram(port: number, bytes: Buffer): Promise<void> {
  const socket = dgram.createSocket("udp4");
  onTestFinished(() => {
    socket.close();
  });
  await new Promise<void>((resolve, reject) => {
    socket.send(bytes, port, "127.0.0.1", (error) => (error === null ? resolve() : reject(error)));
  });
}

describe("a hello over MQTT", () => {
  it("[MQT-7] is answered even right after the CONNECT, while the device is being authenticated", async () => {
    const site = await openSite();
    const claim = { deviceId: "02:00:00:00:00:05", clientId: "early-bird" };
    const settings = await askForSettings(site.url, claim);
    for (let tenths = 0; tenths < 40; tenths += 1) {
      const socket = dial(settings.endpoint);
      onTestFinished(() => {
        socket.destroy();
      });
      const said: string[] = [];
      const parser = mqttPacket.parser({ protocolVersion: 4 });
      parser.on("packet", (packet) => {
        if (packet.cmd === "publish") said.push(packet.payload.toString());
      });
      socket.on("data", (chunk) => parser.parse(chunk));
      socket.on("error", () => undefined);
      socket.write(connectPacket(settings));
      const at = performance.now() + tenths / 10;
      while (performance.now() < at) await new Promise((resolve) => setImmediate(resolve));
      const payload = JSON.stringify(hello("udp"));
      const flags = { qos: 0, dup: false, retain: false } as const;
      socket.write(mqttPacket.generate({ cmd: "publish", topic: settings.publish_topic, payload, ...flags }));
      await until(
        () => said.some((text) => text.includes('"type":"hello"')),
        `the answer after ${tenths}/10 ms`,
      );
      socket.destroy();
    }
  });

  it.each(["udp", "mqtt"])(
    "[MQT-7][MQT-8] with transport %s is answered completely, with an alert and a goodbye",
    async (transport) => {
      const clock = new ManualClock();
      const site = await openSite({ clock });
      const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
      const { answer, alert } = await greet(device, hello(transport));
      expect(answer).toEqual({
        type: "hello",
        transport,
        session_id: expect.stringMatching(/^[A-Za-z0-9_-]+$/),
        audio_params: { format: "opus", sample_rate: 24000, channels: 1, frame_duration: 60 },
        udp: {
          server: "127.0.0.1",
          port: expect.any(Number),
          key: expect.stringMatching(/^[0-9a-f]{32}$/),
          nonce: expect.stringMatching(/^01[0-9a-f]{30}$/),
        },
      });
      expect(alert).toMatchObject({
        status: expect.any(String),
        message: expect.any(String),
        emotion: "neutral",
      });
      await device.setUp({ tools: [tool("a")] });
      clock.advance(3_000);
      const goodbye = { type: "goodbye", session_id: answer["session_id"] };
      expect(await device.nextFrame("goodbye")).toEqual(goodbye);
      await called(site, device);
    },
  );

  it("[MQT-7] gets an audio port, whose packets are counted and dropped", async () => {
    const site = await openSite({ clock: new ManualClock() });
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const { answer } = await greet(device);
    const { port, nonce } = answer["udp"] as { port: number; nonce: string };
    expect(await site.metric(dropped)).toBe(0);
    await sendDatagram(port, Buffer.concat([Buffer.from(nonce, "hex"), Buffer.alloc(40)]));
    await until(async () => (await site.metric(dropped)) === 1, "a datagram to be counted");
    await sendDatagram(port, Buffer.from("x"));
    await until(async () => (await site.metric(dropped)) === 2, "another");
  });

  it("[MQT-7] gets its own session, key and nonce each time", async () => {
    const site = await openSite({ clock: new ManualClock() });
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const first = (await greet(device)).answer;
    await device.setUp({ tools: [tool("a")] });
    const second = (await greet(device)).answer;
    await device.setUp({ tools: [tool("a")] });
    expect(second["session_id"]).not.toBe(first["session_id"]);
    const [one, two] = [first["udp"] as Fields, second["udp"] as Fields];
    expect(two["key"]).not.toBe(one["key"]);
    expect(two["nonce"]).not.toBe(one["nonce"]);
    expect(two["port"]).toBe(one["port"]);
    await called(site, device);
  });

  it("[MQT-7] is answered in order when sent twice at once, and the device is listed for the last", async () => {
    const site = await openSite({ clock: new ManualClock() });
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    device.send(hello("udp"));
    device.send(hello("udp"));
    const frames: Frame[] = [];
    while (frames.filter(({ type }) => type === "alert").length < 2) {
      frames.push(JSON.parse(await device.wire.nextText()) as Frame);
    }
    const ids = (type: string) =>
      frames.filter((frame) => frame.type === type).map((frame) => frame["session_id"]);
    expect(ids("hello").length).toBe(2);
    expect(ids("alert")).toEqual(ids("hello"));
    for (const frame of frames) {
      const payload = frame["payload"] as { id: number } | undefined;
      if (payload !== undefined) device.reply(payload.id, {});
    }
    await until(async () => {
      const message = await device.nextMcp();
      const id = message["id"] as number;
      if (message["method"] === "tools/list") device.reply(id, { tools: [tool("a")] });
      else device.reply(id, {});
      return message["method"] === "tools/list" && !("withUserTools" in (message["params"] as Fields));
    }, "the second list");
    await site.listed(device.id);
    await called(site, device);
  });

  it.each([
    ["empty", () => ""],
    ["current", (answer: Frame) => answer["session_id"]],
    ["stale", () => "a-session-of-yesterday"],
    ["missing", () => undefined],
  ])("[MQT-8][DEV-2] allows tools with a session id that is %s", async (_, idOf) => {
    const site = await openSite({ clock: new ManualClock() });
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const { answer } = await greet(device);
    const say = (payload: unknown) => device.send({ session_id: idOf(answer), type: "mcp", payload });
    const answerNext = async (method: string, result: unknown) => {
      say({ jsonrpc: "2.0", id: (await device.nextRequest(method)).id, result });
    };
    await answerNext("initialize", { serverInfo: { name: "x", version: "1.2.3" } });
    await answerNext("tools/list", { tools: [tool("a")] });
    await answerNext("tools/list", { tools: [tool("a")] });
    const running = site.call(device.id, "a");
    await answerNext("tools/call", textContent("done"));
    expect((await running).body["result"]).toEqual(textContent("done"));
    expect(await site.device(device.id)).toMatchObject({ firmware: "1.2.3" });
  });

  it.each([
    ["its own session", (answer: Frame) => answer["session_id"]],
    ["another session", () => "another-session"],
    ["no session", () => undefined],
  ])("[DEV-23] keeps connection and tools after the device's goodbye for %s", async (_, idOf) => {
    const site = await openSite({ clock: new ManualClock() });
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const { answer } = await greet(device);
    await device.setUp({ tools: [tool("a")] });
    device.send({ session_id: idOf(answer), type: "goodbye" });
    expect(await device.quiet()).toEqual([]);
    await called(site, device);
    expect(await site.device(device.id)).toMatchObject({ online: true });
  });

  it("[MQT-8] does not disturb a running call", async () => {
    const site = await openSite({ clock: new ManualClock() });
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const running = site.call(device.id, "a");
    const { id } = await device.nextRequest("tools/call");
    await greet(device);
    device.reply(id, textContent("done"));
    expect((await running).body["result"]).toEqual(textContent("done"));
    await device.setUp({ tools: [tool("a")] });
  });

  it("[DEV-5] without MCP keeps the device connected, with its earlier tools", async () => {
    const site = await openSite({ clock: new ManualClock() });
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const { answer } = await greet(device, hello("udp", { features: {} }));
    expect(answer["udp"]).toBeDefined();
    device.send({ type: "listen", state: "start", session_id: answer["session_id"] });
    device.send({ type: "abort", session_id: answer["session_id"] });
    expect(await device.quiet()).toEqual([]);
    expect(await site.device(device.id)).toMatchObject({ online: true, toolCount: 1 });
  });
});

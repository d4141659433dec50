import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { firmwareHello, RawDevice, textContent, tool } from "./raw-device.ts";
import { firstDevice, openSite, type Site } from "./site.ts";
import { deviceHeaders, WebSocketWire } from "./websocket-wire.ts";

const claim = { deviceId: firstDevice, clientId: "limits-client" };

async function open(site: Site, version = 1): Promise<{ wire: WebSocketWire; device: RawDevice }> {
  const wire = await WebSocketWire.open(site.url, { headers: deviceHeaders(claim, version) });
  return { wire, device: new RawDevice(wire, firstDevice) };
}

async function offlineReason(site: Site): Promise<string> {
  const view = await until(async () => {
    const seen = await site.device(firstDevice);
    return seen["online"] === false ? seen : undefined;
  });
  return (view["lastDisconnect"] as { reason: string }).reason;
}

describe("bounds on what a device sends", () => {
  it("[DEV-8] a frame of 256 KiB is accepted, one byte more ends the connection with 1009", async () => {
    const site = await openSite();
    const { wire, device } = await open(site);
    await device.greet({ type: "hello" });
    const frame = (bytes: number) => `{"type":"${"x".repeat(bytes - 11)}"}`;
    device.sendText(frame(256 * 1024));
    expect(await device.quiet()).toEqual([]);
    device.sendText(frame(256 * 1024 + 1));
    expect((await wire.ended).code).toBe(1009);
    expect(await offlineReason(site)).toBe("the device sent a frame that is too large");
  });

  it.each([
    ["an oversize frame", [0x81, 0xff, 0, 0, 0, 0, 0, 15, 0, 0], "the device sent a frame that is too large"],
    ["a frame that is none", [0xf3, 0x80], "the device violated the WebSocket protocol"],
    ["its own Close frame", [0x88, 0x80], "the device closed the connection (1005)"],
  ])(
    "[DEV-8] [DEV-11] a device that stays connected after %s is offline and disconnected",
    async (_, bytes, reason) => {
      const site = await openSite();
      const socket = connect({
        port: Number(new URL(site.url).port),
        host: "127.0.0.1",
        allowHalfOpen: true,
      });
      let gone = false;
      socket.on("error", () => {
        gone = true;
      });
      socket.resume();
      const lines = Object.entries({
        Host: "127.0.0.1",
        Upgrade: "websocket",
        Connection: "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        ...deviceHeaders(claim),
      }).map(([name, value]) => `${name}: ${value}`);
      socket.write(`GET /xiaozhi/v1/ HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
      const noMask = Buffer.alloc(4);
      const hello = Buffer.from('{"type":"hello"}');
      socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | hello.length]), noMask, hello]));
      await until(async () => (await site.device(firstDevice))["online"] === true);
      socket.write(Buffer.concat([Buffer.from(bytes), noMask]));
      expect(await offlineReason(site)).toBe(reason);
      await until(() => {
        if (!gone) socket.write(noMask);
        return gone;
      }, "the end of TCP");
      socket.destroy();
    },
  );

  it("[DEV-8] bytes that are not UTF-8 count as one bad frame", async () => {
    const site = await openSite();
    const { wire, device } = await open(site);
    await device.greet({ type: "hello" });
    wire.socket.send(Buffer.from([0x22, 0xff, 0xfe, 0x22]), { binary: false });
    expect(await device.quiet()).toEqual([]);
    expect(await site.metric('tendon_odd_frames_total{outcome="invalid"}')).toBe(1);
  });

  it("[DEV-9] a burst of frames is accepted", async () => {
    const site = await openSite({ clock: new ManualClock() });
    const { device } = await open(site);
    await device.greet({ type: "hello" });
    for (let count = 0; count < 990; count += 1) device.sendText('{"type":"listen","state":"stop"}');
    expect(await device.quiet()).toEqual([]);
  });

  it("[DEV-9] answers do not count towards the rate, however many calls a device gets", async () => {
    const site = await openSite({ clock: new ManualClock() });
    const { device } = await open(site);
    await device.greet();
    await device.setUp({ tools: [tool("a")] });
    await site.listed(firstDevice);
    for (let count = 0; count < 980; count += 1) device.sendText('{"type":"listen","state":"stop"}');
    expect(await device.quiet()).toEqual([]);
    for (let count = 0; count < 60; count += 1) {
      const answer = site.call(firstDevice, "a");
      device.reply((await device.nextRequest("tools/call")).id, textContent("yes"));
      expect((await answer).status).toBe(200);
    }
    expect(await device.quiet()).toEqual([]);
  });

  it("[DEV-9] large answers do not count towards the bytes", async () => {
    const site = await openSite({ clock: new ManualClock() });
    const { device } = await open(site);
    await device.greet();
    await device.setUp({ tools: [tool("a")] });
    await site.listed(firstDevice);
    for (let count = 0; count < 20; count += 1) {
      const answer = site.call(firstDevice, "a");
      device.reply((await device.nextRequest("tools/call")).id, textContent("x".repeat(200_000)));
      expect((await answer).status).toBe(200);
    }
    expect(await site.metric("tendon_connections_paused_total")).toBe(0);
  });

  it("[DEV-9] 200 frames per second are always accepted", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const { device } = await open(site);
    await device.greet({ type: "hello" });
    for (let second = 0; second < 12; second += 1) {
      for (let count = 0; count < 190; count += 1) device.sendText('{"type":"listen","state":"stop"}');
      expect(await device.quiet()).toEqual([]);
      clock.advance(1_000);
    }
    expect((await site.device(firstDevice))["online"]).toBe(true);
  });

  it("a device that does not read is disconnected when a megabyte waits for it", async () => {
    const site = await openSite();
    const { wire, device } = await open(site);
    await device.greet();
    await device.setUp({ tools: [tool("a")] });
    await site.listed(firstDevice);
    wire.socket.pause();
    const big = { text: "x".repeat(60_000) };
    const outcome = await until(async () => {
      const { body } = await site.call(firstDevice, "a", big, { timeoutMs: 1 });
      return body["code"] === "device_timeout" ? undefined : body;
    });
    expect(outcome).toMatchObject({ code: "device_disconnected" });
    expect(await offlineReason(site)).toBe("the device stopped reading from its connection");
  });
});

describe("the end of a connection", () => {
  it("[DEV-11] TCP is dropped a second after the Close frame, whatever the device does", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const { wire, device } = await open(site);
    await device.greet({ type: "hello" });
    const received = new Promise((resolve) => {
      wire.socket.once("close", resolve);
    });
    // It no longer reads, so no Close frame is echoed.
    wire.socket.pause();
    const fresh = await open(site);
    await fresh.device.greet({ type: "hello" });
    clock.advance(1_000);
    wire.socket.resume();
    expect(await received).toBe(1001);
    fresh.wire.cut();
  });

  it("[DEV-12] is pinged after 30 s of silence, and a pong counts as activity", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const { wire, device } = await open(site);
    await device.greet();
    await device.setUp();
    await site.listed(firstDevice);
    for (let round = 1; round <= 6; round += 1) {
      clock.advance(30_000);
      await until(() => wire.pings === round);
      // The pong was sent on the ping; this waits until the gateway has read it, without sending a frame.
      await until(
        async () => Date.parse(String((await site.device(firstDevice))["lastSeenAt"])) === clock.now(),
      );
    }
    expect(wire.untaken).toEqual([]);
    expect((await site.device(firstDevice))["online"]).toBe(true);
  });
});

describe("audio without a voice server", () => {
  const opus = Buffer.from([1, 2, 3, 4, 5]);
  const framed2 = Buffer.concat([Buffer.from("00020000000000000000000000000005", "hex"), opus]);
  const framed3 = Buffer.concat([Buffer.from("00000005", "hex"), opus]);

  it.each([
    ["AUD-1", 1, opus],
    ["AUD-2", 2, framed2],
    ["AUD-3", 3, framed3],
  ] as const)("[AUD-4] [%s] framing %i is counted and dropped", async (_, version, frame) => {
    const site = await openSite();
    const { wire, device } = await open(site, version);
    await device.greet({ ...firmwareHello, version, features: {} });
    for (let count = 0; count < 3; count += 1) wire.sendBinary(frame);
    expect(await device.quiet()).toEqual([]);
    expect((await site.device(firstDevice))["droppedAudioFrames"]).toBe(3);
    expect(await site.metric("tendon_audio_frames_dropped_total")).toBe(3);
    expect(await site.metric("tendon_audio_bytes_dropped_total")).toBe(3 * frame.byteLength);
  });

  it.each([
    [2, Buffer.from([0, 2])],
    [2, framed2.subarray(0, -1)],
    [3, Buffer.concat([framed3, opus])],
    [3, Buffer.alloc(0)],
  ])("[AUD-3] framing %i with a wrong length is counted as invalid", async (version, frame) => {
    const site = await openSite();
    const { wire, device } = await open(site, version);
    await device.greet({ ...firmwareHello, version, features: {} });
    wire.sendBinary(frame);
    expect(await device.quiet()).toEqual([]);
    expect((await site.device(firstDevice))["droppedAudioFrames"]).toBe(0);
    expect(await site.metric('tendon_odd_frames_total{outcome="invalid"}')).toBe(1);
  });

  it("does not disturb calls", async () => {
    const site = await openSite();
    const { wire, device } = await open(site);
    await device.greet();
    await device.setUp({ tools: [tool("a")] });
    await site.listed(firstDevice);
    const answer = site.call(firstDevice, "a");
    const { id } = await device.nextRequest("tools/call");
    for (let count = 0; count < 50; count += 1) wire.sendBinary(opus);
    device.reply(id, textContent("ok"));
    expect((await answer).status).toBe(200);
  });
});

/** Actions that stock firmware has no tool for, composed of the tools it has. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { MqttApp } from "../mqtt-app.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { tool } from "../raw-device.ts";
import { firstDevice, openSite, type Site } from "../site.ts";
import { openSpeaker, statusTool, stockTools, volumeTool } from "./speaker.ts";

const controlPath = `/devices/${firstDevice}/control`;

async function control(site: Site, action: string, fields: Record<string, unknown> = {}) {
  return await site.rest("POST", controlPath, { action, ...fields });
}

describe("steps", () => {
  it.each([
    ["volume_up", 50, {}, 60],
    ["volume_down", 50, {}, 40],
    ["volume_up", 50, { step: 5 }, 55],
    ["volume_up", 50, { value: 7 }, 57],
    ["volume_down", 50, { value: 7 }, 43],
    ["volume_up", 95, {}, 100],
    ["volume_up", 100, {}, 100],
    ["volume_down", 5, {}, 0],
    ["volume_down", 0, {}, 0],
    ["volume_up", 50, { step: 0 }, 50],
    ["volume_down", 50, { step: 0 }, 50],
    ["volume_up", 0, { step: 100 }, 100],
    ["volume_down", 100, { step: 100 }, 0],
    ["volume_up", 50, { step: null }, 60],
  ])("[CTL-6] %s at %i with %j ends at %i", async (action, from, fields, to) => {
    const { site, speaker } = await openSpeaker({ volume: from });
    const { status, body } = await control(site, action, fields);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ok: true,
      tools: [statusTool, volumeTool],
      result: {
        content: [{ type: "text", text: String(to) }],
        structuredContent: { volume: to, previous: from },
      },
    });
    expect(speaker.calls[1]?.arguments).toEqual({ volume: to });
    expect(speaker.volume).toBe(to);
  });

  it("[CTL-8] ten at once end exactly ten steps higher", async () => {
    const { site, speaker } = await openSpeaker({ volume: 10 });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => control(site, "volume_up", { step: 3 })),
    );
    expect(answers.every(({ body }) => body["ok"] === true)).toBe(true);
    expect(speaker.volume).toBe(40);
    expect(speaker.names).toEqual(Array.from({ length: 10 }, () => [statusTool, volumeTool]).flat());
  });

  it("[CTL-8] up, mute and down at once run in order without a race", async () => {
    const { site, speaker } = await openSpeaker({ volume: 50 });
    const script = [
      "volume_up",
      "volume_down",
      "mute",
      "unmute",
      "volume_up",
      "mute",
      "volume_up",
      "volume_down",
    ];
    // One connection, so that they arrive in this order without waiting for each other.
    const app = await MqttApp.open(site);
    const topic = `tendon/devices/${firstDevice}/control`;
    await app.wire.subscribe(`${topic}/reply`);
    for (const action of script) app.publish(topic, { action });
    await until(() => app.on(`${topic}/reply`).length === script.length, "all answers");
    expect(app.on(`${topic}/reply`).map(({ action }) => action)).toEqual(script);
    expect(speaker.volume).toBe(0);
    await control(site, "unmute");
    expect(speaker.volume).toBe(0);
  });

  it("[CTL-8] at most 32 wait; the next is rejected and not sent", async () => {
    const { site, speaker } = await openSpeaker();
    speaker.held = true;
    const first = control(site, "volume_up");
    await speaker.called(1);
    const refused: unknown[] = [];
    const others = Array.from({ length: 40 }, async () => {
      const { status, body } = await control(site, "volume_up", { step: 0 });
      if (status !== 200) refused.push([status, body["code"], body["tools"]]);
    });
    await until(() => refused.length === 8);
    expect(refused).toEqual(Array.from({ length: 8 }, () => [429, "queue_full", []]));
    speaker.release();
    await Promise.all([first, ...others]);
    expect(speaker.calls.length).toBe(66);
    expect((await control(site, "volume_up", { step: 0 })).body).toMatchObject({ ok: true });
  });

  it("[CTL-8] one device does not wait for another", async () => {
    const { site, speaker } = await openSpeaker();
    speaker.held = true;
    const stuck = control(site, "volume_up");
    await speaker.called(1);
    const other = await site.join({
      deviceId: "02:00:00:00:00:02",
      tools: [tool("self.audio_speaker.mute")],
    });
    const asked = site.rest("POST", `/devices/${other.id}/control`, { action: "mute" });
    other.reply((await other.nextRequest("tools/call")).id, { content: [] });
    expect((await asked).status).toBe(200);
    speaker.release();
    await stuck;
  });
});

describe("mute and unmute", () => {
  it("[CTL-6][CTL-7] mute sets 0 and keeps the first level, unmute restores it once", async () => {
    const { site, speaker } = await openSpeaker({ volume: 35 });
    expect((await control(site, "mute")).body).toMatchObject({
      ok: true,
      tools: [statusTool, volumeTool],
      result: { structuredContent: { volume: 0, previous: 35 } },
    });
    expect(speaker.volume).toBe(0);
    expect((await control(site, "mute")).body).toMatchObject({ ok: true });
    expect((await control(site, "unmute")).body).toMatchObject({
      ok: true,
      tools: [volumeTool],
      result: { structuredContent: { volume: 35 } },
    });
    expect(speaker.volume).toBe(35);
    const count = speaker.calls.length;
    expect((await control(site, "unmute")).body).toMatchObject({ ok: true, tools: [] });
    expect(speaker.calls.length).toBe(count);
  });

  it("[CTL-7] unmute without a stored level succeeds and sends nothing", async () => {
    const { site, speaker } = await openSpeaker();
    const { status, body } = await control(site, "unmute", { request_id: "u" });
    expect([status, body]).toMatchObject([
      200,
      { request_id: "u", ok: true, tools: [], result: { isError: false } },
    ]);
    expect(speaker.calls).toEqual([]);
  });

  it.each([
    ["set_volume", { volume: 20 }, 20],
    ["volume_up", { step: 8 }, 8],
    ["volume_down", { step: 8 }, 0],
  ])("[CTL-7] %s in between clears the stored level", async (action, fields, level) => {
    const { site, speaker } = await openSpeaker({ volume: 35 });
    await control(site, "mute");
    await control(site, action, fields);
    await control(site, "unmute");
    expect(speaker.volume).toBe(level);
  });

  it("[CTL-7] a level set by an ordinary call in between is kept", async () => {
    const { site, speaker } = await openSpeaker({ volume: 35 });
    await control(site, "mute");
    expect((await site.call(firstDevice, volumeTool, { volume: 20 })).status).toBe(200);
    await control(site, "unmute");
    expect(speaker.volume).toBe(20);
    await control(site, "mute");
    await site.call(firstDevice, volumeTool, { volume: 60 });
    await control(site, "mute");
    await control(site, "unmute");
    expect(speaker.volume).toBe(60);
  });

  it.each([
    ["unmute", {}, 35],
    ["mute", {}, 35],
    ["set_volume", { volume: 20 }, 20],
  ])(
    "[CTL-7] is remembered over a restart of the gateway: after %s, unmute ends at the right level",
    async (first, fields, level) => {
      const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-muted-"));
      onTestFinished(() => fs.rmSync(data, { recursive: true, force: true }));
      const before = await openSpeaker({ volume: 35, config: { data } });
      await control(before.site, "mute");
      await before.site.stop();
      for (const action of [first, "unmute", "unmute"]) {
        const { site, speaker } = await openSpeaker({ volume: before.speaker.volume, config: { data } });
        expect((await control(site, action, action === first ? fields : {})).body).toMatchObject({
          ok: true,
        });
        before.speaker.volume = speaker.volume;
        await site.stop();
      }
      expect(before.speaker.volume).toBe(level);
    },
  );

  it("[CTL-7] the stored level is deleted with the device", async () => {
    const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-muted-"));
    onTestFinished(() => fs.rmSync(data, { recursive: true, force: true }));
    const before = await openSpeaker({ volume: 35, config: { data } });
    await control(before.site, "mute");
    expect((await before.site.rest("DELETE", `/devices/${firstDevice}`)).status).toBe(204);
    await before.site.stop();
    const { site, speaker } = await openSpeaker({ volume: 12, config: { data } });
    expect((await control(site, "unmute")).body).toMatchObject({ ok: true, tools: [] });
    expect(speaker.volume).toBe(12);
  });

  it("[CTL-7] a mute with a lost answer stores the level; a rejected one does not", async () => {
    const clock = new ManualClock();
    const { site, speaker } = await openSpeaker({ clock, volume: 35 });
    speaker.answers.set(volumeTool, () => ({ error: { message: "busy" } }));
    expect((await control(site, "mute")).body).toMatchObject({ code: "device_error", detail: "busy" });
    expect((await control(site, "unmute")).body).toMatchObject({ ok: true, tools: [] });
    speaker.answers.set(volumeTool, ({ arguments: args }) => {
      speaker.volume = Number(args["volume"]);
      return { method: "not-an-answer", id: undefined };
    });
    const lost = control(site, "mute", { timeoutMs: 1_000 });
    await until(() => speaker.volume === 0);
    clock.advance(1_000);
    expect((await lost).body).toMatchObject({ ok: false, code: "device_timeout", phase: "device" });
    speaker.answers.clear();
    expect((await control(site, "mute")).body).toMatchObject({ ok: true });
    await control(site, "unmute");
    expect(speaker.volume).toBe(35);
  });

  it("[CTL-7] a device keeps its stored level while it is offline", async () => {
    const { site, speaker } = await openSpeaker({ volume: 35 });
    await control(site, "mute");
    speaker.device.cut();
    await until(async () => (await site.device(firstDevice))["online"] === false);
    expect((await control(site, "unmute")).body).toMatchObject({ ok: false, code: "device_offline" });
    const back = await site.join({ transport: mqttTransport, tools: stockTools });
    const asked = control(site, "unmute");
    const { id, params } = await back.nextRequest("tools/call");
    expect(params).toEqual({ name: volumeTool, arguments: { volume: 35 } });
    back.reply(id, { content: [] });
    expect((await asked).body).toMatchObject({ ok: true });
  });

  it("[CTL-6] each device has its own level", async () => {
    const { site, speaker } = await openSpeaker({ volume: 35 });
    await control(site, "mute");
    const other = await site.join({ deviceId: "02:00:00:00:00:02", tools: stockTools });
    expect(
      (await site.rest("POST", `/devices/${other.id}/control`, { action: "unmute" })).body,
    ).toMatchObject({
      ok: true,
      tools: [],
    });
    expect(await other.quiet()).toEqual([]);
    expect(speaker.volume).toBe(0);
  });
});

describe("failures on the way", () => {
  it.each(["volume_up", "mute"])(
    "[CTL-4] %s fails when the device reports that setting failed",
    async (action) => {
      const { site, speaker } = await openSpeaker();
      speaker.answers.set(volumeTool, () => ({
        result: { content: [{ type: "text", text: "no codec" }], isError: true },
      }));
      const { status, body } = await control(site, action);
      expect([status, body]).toMatchObject([
        502,
        { ok: false, code: "device_error", detail: "no codec", tools: [statusTool, volumeTool] },
      ]);
    },
  );

  it.each([
    ["no level", { battery: 5 }],
    ["a level as text", { audio_speaker: { volume: "50" } }],
  ])("[CTL-4] a status with %s is a device_error, and nothing is set", async (_, status) => {
    const { site, speaker } = await openSpeaker();
    speaker.answers.set(statusTool, () => ({
      result: { content: [{ type: "text", text: JSON.stringify(status) }] },
    }));
    const answer = await control(site, "volume_up");
    expect([answer.status, answer.body]).toMatchObject([502, { code: "device_error", tools: [statusTool] }]);
    expect(answer.body["detail"]).toContain("audio_speaker.volume");
    expect(speaker.names).toEqual([statusTool]);
  });

  it("[CTL-6] names the missing tool if the device has none of them", async () => {
    const { site } = await openSpeaker({ tools: [tool("a")] });
    const answer = await control(site, "volume_up");
    expect([answer.status, answer.body]).toMatchObject([404, { ok: false, code: "tool_unknown" }]);
    expect(answer.body["detail"]).toContain(statusTool);
  });

  it("[CALL-2] one deadline covers both steps of an action", async () => {
    const clock = new ManualClock();
    const { site, speaker } = await openSpeaker({ clock });
    speaker.held = true;
    const asked = control(site, "volume_up", { timeoutMs: 1_000 });
    await speaker.called(1);
    clock.advance(600);
    const [read] = speaker.calls;
    if (read !== undefined) speaker.answer(read);
    await speaker.called(2);
    clock.advance(399);
    clock.advance(1);
    const { status, body } = await asked;
    expect([status, body]).toMatchObject([
      504,
      { code: "device_timeout", phase: "device", tools: [statusTool, volumeTool] },
    ]);
  });

  it("[CALL-2] an action for a device without a tool list fails with the reason and the waiting time", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = await site.connect({ transport: mqttTransport });
    await device.nextRequest("initialize");
    const timers = clock.pending;
    const asked = control(site, "volume_up", { timeoutMs: 1_000 });
    await until(() => clock.pending > timers, "the action to wait");
    clock.advance(1_000);
    expect((await asked).body).toMatchObject({
      ok: false,
      code: "device_timeout",
      detail: "the device had not listed its tools after 1000 ms; nothing was sent",
      phase: "queue",
      sent: false,
      tools: [],
    });
  });

  it("[CALL-2] an action that waits for another ends at its own deadline, and is never sent", async () => {
    const clock = new ManualClock();
    const { site, speaker } = await openSpeaker({ clock });
    speaker.held = true;
    const first = control(site, "volume_up", { timeoutMs: 10_000 });
    await speaker.called(1);
    const timers = clock.pending;
    const second = control(site, "volume_up", { timeoutMs: 1_000 });
    const third = control(site, "set_volume", { volume: 90, timeoutMs: 9_000 });
    await until(() => clock.pending === timers + 2, "both to wait");
    clock.advance(1_000);
    const { status, body } = await second;
    expect([status, body]).toMatchObject([
      504,
      { code: "device_timeout", phase: "queue", sent: false, tools: [] },
    ]);
    speaker.release();
    expect((await first).body).toMatchObject({ ok: true });
    expect((await third).body).toMatchObject({ ok: true });
    expect(speaker.names).toEqual([statusTool, volumeTool, volumeTool]);
    expect(speaker.volume).toBe(90);
  });

  it("[CALL-3] an action whose caller disconnects while it waits is never sent", async () => {
    const { site, speaker } = await openSpeaker();
    speaker.held = true;
    const first = control(site, "volume_up");
    await speaker.called(1);
    const hangUp = new AbortController();
    const second = site
      .rest("POST", controlPath, { action: "set_volume", volume: 99 }, {}, hangUp.signal)
      .catch((error: unknown) => error);
    await site.rest("GET", "/devices");
    hangUp.abort();
    expect(await second).toBeInstanceOf(Error);
    await site.rest("GET", "/devices");
    speaker.release();
    await first;
    expect((await control(site, "volume_up", { step: 0 })).body).toMatchObject({ ok: true });
    expect(speaker.calls.some(({ arguments: args }) => args["volume"] === 99)).toBe(false);
  });
});

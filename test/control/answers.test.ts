import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { MqttApp } from "../mqtt-app.ts";
import { textContent, tool } from "../raw-device.ts";
import { adminToken, firstDevice, openSite } from "../site.ts";
import { openSpeaker, statusTool, stockTools, volumeTool } from "./speaker.ts";

const controlPath = `/devices/${firstDevice}/control`;
const controlTopic = `tendon/devices/${firstDevice}/control`;
const sixActions = ["set_volume", "volume_up", "volume_down", "get_volume", "mute", "unmute"];

/** Mistakes of the only other implementation, one row each. */
describe("answers that the other implementation lacks", () => {
  const fine: readonly [string, Record<string, unknown>, Record<string, unknown>, number][] = [
    ["set_volume 0 keeps its argument", { action: "set_volume", volume: 0 }, { volume: 0 }, 0],
    ["value 0 is 0 too", { action: "set_volume", value: 0 }, { volume: 0 }, 0],
    ["command and value are action and volume", { command: "set_volume", value: 41 }, { volume: 41 }, 41],
    ["a step of 0 stays 0", { action: "volume_up", step: 0 }, { volume: 50 }, 50],
    ["a step of 0 down stays 0", { action: "volume_down", value: 0 }, { volume: 50 }, 50],
    ["volume_up works on stock firmware", { action: "volume_up" }, { volume: 60 }, 60],
    ["volume_down works on stock firmware", { action: "volume_down" }, { volume: 40 }, 40],
    ["mute works on stock firmware", { action: "mute" }, { volume: 0 }, 0],
    [
      "a function call's 0 is kept",
      { function_call: { name: "self_set_volume", arguments: { volume: 0 } } },
      { volume: 0 },
      0,
    ],
  ];
  it.each(fine)("%s", async (_, message, args, level) => {
    const { site, speaker } = await openSpeaker({ volume: 50 });
    const { status, body } = await site.rest("POST", controlPath, { type: "device_control", ...message });
    expect([status, body["ok"]]).toEqual([200, true]);
    expect(speaker.calls.at(-1)).toMatchObject({ name: volumeTool, arguments: args });
    expect(speaker.volume).toBe(level);
  });

  it.each(["req_1790000000000", "abc", 1_790_000_000_000, 0, -5, 1.5])(
    "the request_id %j is kept, and the device's request has its own int32 id",
    async (request_id) => {
      const { site, speaker } = await openSpeaker();
      const { body } = await site.rest("POST", controlPath, { action: "set_volume", volume: 1, request_id });
      expect(body).toMatchObject({ request_id, ok: true });
      expect(speaker.calls[0]?.frame["request_id"]).toBe(request_id);
      expect(Number.isInteger(speaker.calls[0]?.id)).toBe(true);
      expect(speaker.calls[0]?.id).toBeLessThanOrEqual(2_147_483_647);
    },
  );

  it("ids increase, and each reply belongs to its action", async () => {
    const { site, speaker } = await openSpeaker();
    const answers = await Promise.all(
      [10, 20, 30].map((volume) =>
        site.rest("POST", controlPath, { action: "set_volume", volume, request_id: volume }),
      ),
    );
    expect(answers.map(({ body }) => body["request_id"])).toEqual([10, 20, 30]);
    const ids = speaker.calls.map(({ id }) => Number(id));
    expect(ids.map((id) => id - (ids[0] ?? 0))).toEqual([0, 1, 2]);
  });

  it("an unknown action is answered with the known ones", async () => {
    const { site, speaker } = await openSpeaker();
    const { status, body } = await site.rest("POST", controlPath, { action: "explode", request_id: "x" });
    expect([status, body]).toEqual([
      400,
      {
        type: "device_control_response",
        request_id: "x",
        action: "explode",
        tools: [],
        ok: false,
        retryable: false,
        code: "action_unknown",
        title: expect.any(String),
        detail: "unknown action `explode`",
        known: sixActions,
        callId: expect.any(String),
      },
    ]);
    expect(speaker.calls).toEqual([]);
  });

  it("user-only tools follow the rules of any call, and return the device's answer", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [], userTools: [tool("self.reboot")] });
    const asked = site.rest("POST", controlPath, { function_call: { name: "self.reboot" } });
    await device.nextRequest("tools/call");
    device.cut();
    expect((await asked).body).toMatchObject({ ok: true, tools: ["self.reboot"] });
    const stranger = await site.rest(
      "POST",
      controlPath,
      { action: "mute" },
      { authorization: "Bearer wrong" },
    );
    expect([stranger.status, stranger.body["code"]]).toEqual([401, "unauthenticated"]);
  });
});

describe("arguments of an action", () => {
  it.each([
    [{ action: "set_volume", volume: "50" }, "/volume", "must be an integer"],
    [{ action: "set_volume", value: "50" }, "/value", "must be an integer"],
    [{ action: "set_volume", volume: 50.5 }, "/volume", "must be an integer"],
    [{ action: "set_volume", volume: true }, "/volume", "must be an integer"],
    [{ action: "set_volume", volume: 101 }, "/volume", "must be at most 100"],
    [{ action: "set_volume", volume: -1 }, "/volume", "must be at least 0"],
    [{ action: "set_volume" }, "/volume", "is required"],
    [{ action: "set_volume", volume: null }, "/volume", "is required"],
    [{ action: "volume_up", step: "10" }, "/step", "must be an integer"],
    [{ action: "volume_down", step: 101 }, "/step", "must be at most 100"],
    [{ function_call: { name: "self_volume_up", arguments: { step: -1 } } }, "/step", "must be at least 0"],
  ])("[CTL-3] %j is rejected, naming %s", async (message, path, why) => {
    const { site, speaker } = await openSpeaker();
    const { status, body } = await site.rest("POST", controlPath, { ...message, request_id: "a" });
    expect([status, body]).toMatchObject([
      422,
      {
        request_id: "a",
        ok: false,
        code: "arguments_invalid",
        detail: `${path} ${why}`,
        errors: [{ path, message: why }],
        tools: [],
      },
    ]);
    expect(speaker.calls).toEqual([]);
  });

  it("[CTL-3] the name takes precedence over its aliases, and other fields are ignored", async () => {
    const { site, speaker } = await openSpeaker();
    await site.rest("POST", controlPath, {
      action: "set_volume",
      volume: 12,
      value: 90,
      brightness: 3,
      nested: {},
    });
    expect(speaker.calls[0]?.arguments).toEqual({ volume: 12 });
  });
});

describe("nested arguments", () => {
  it.each([
    [{ action: "set_volume", arguments: { volume: 33 } }, 33],
    [{ command: "set_volume", arguments: { value: 0 } }, 0],
    [{ action: "set_volume", volume: 12, arguments: { volume: 90 } }, 12],
    [{ action: "set_volume", value: 12, arguments: { volume: 90 } }, 12],
    [{ action: "set_volume", volume: null, arguments: { value: 33 } }, 33],
    [{ action: "volume_up", arguments: { step: 7 } }, 57],
    [{ action: "volume_up", arguments: {} }, 60],
  ])("[CTL-3] %j ends at %i over REST and MQTT", async (message, level) => {
    const { site, speaker } = await openSpeaker({ volume: 50 });
    expect((await site.rest("POST", controlPath, message)).body).toMatchObject({ ok: true });
    expect(speaker.volume).toBe(level);
    speaker.volume = 50;
    const app = await MqttApp.open(site);
    await app.wire.subscribe(`${controlTopic}/reply`);
    expect(await app.ask(controlTopic, message)).toMatchObject({ ok: true });
    expect(speaker.volume).toBe(level);
  });

  it("[CTL-3] are checked like fields of the message", async () => {
    const { site } = await openSpeaker();
    const { status, body } = await site.rest("POST", controlPath, {
      action: "set_volume",
      arguments: { volume: "50" },
    });
    expect([status, body]).toMatchObject([
      422,
      { code: "arguments_invalid", errors: [{ path: "/volume", message: "must be an integer" }] },
    ]);
  });
});

describe("the answer", () => {
  it("[CTL-4] to a wrong type names the right one, over REST and MQTT", async () => {
    const { site, speaker } = await openSpeaker();
    const app = await MqttApp.open(site);
    await app.wire.subscribe(`${controlTopic}/reply`);
    const message = { type: "device_ctrl", action: "mute", request_id: "t" };
    const wrong = {
      request_id: "t",
      ok: false,
      code: "bad_request",
      detail: "/type must be `device_control` or absent, not `device_ctrl`",
    };
    expect((await site.rest("POST", controlPath, message)).body).toMatchObject({
      ...wrong,
      errors: [{ path: "/type", message: "must be `device_control`" }],
    });
    expect(await app.ask(controlTopic, message)).toMatchObject(wrong);
    expect(speaker.calls).toEqual([]);
  });

  it("[CTL-1] a missing request_id is generated from the time, and is unique", async () => {
    const clock = new ManualClock();
    const { site, speaker } = await openSpeaker({ clock });
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => site.rest("POST", controlPath, { action: "get_volume" })),
    );
    const ids = answers.map(({ body }) => String(body["request_id"])).sort();
    expect(ids).toEqual(Array.from({ length: 5 }, (_, index) => `req_${clock.now() + index}`));
    expect(new Set(speaker.calls.map(({ frame }) => frame["request_id"]))).toEqual(new Set(ids));
    expect(speaker.calls[0]?.frame["timestamp"]).toBe("2026-01-01T00:00:00.000Z");
  });

  it.each([
    [{ action: "get_volume" }, { volume: 64, audio_speaker: { volume: 64 } }],
    [{ function_call: { name: "self_get_volume" } }, { volume: 64, audio_speaker: { volume: 64 } }],
    [{ action: "set_volume", volume: 0 }, { volume: 0 }],
    [{ action: "set_volume", value: 30 }, { volume: 30 }],
    [{ function_call: { name: "self_set_volume", arguments: { volume: 9 } } }, { volume: 9 }],
    [{ action: "volume_up" }, { volume: 74, previous: 64 }],
    [{ action: "volume_down" }, { volume: 54, previous: 64 }],
    [{ action: "mute" }, { volume: 0, previous: 64 }],
  ])("[CTL-4] to %j has the volume in its structured result", async (message, structuredContent) => {
    const { site, speaker } = await openSpeaker({ volume: 64 });
    const app = await MqttApp.open(site);
    await app.wire.subscribe(`${controlTopic}/reply`);
    const { body } = await site.rest("POST", controlPath, message);
    expect(body["result"]).toMatchObject({ structuredContent, isError: false });
    speaker.volume = 64;
    await site.rest("POST", controlPath, { action: "set_volume", volume: 64 });
    expect((await app.ask(controlTopic, message))["result"]).toEqual(body["result"]);
  });

  it("[CTL-4] has no volume if the device reports none", async () => {
    const { site, speaker } = await openSpeaker();
    speaker.answers.set(statusTool, () => ({ result: textContent('{"screen":{"brightness":5}}') }));
    const { body } = await site.rest("POST", controlPath, { action: "get_volume" });
    expect(body["result"]).toMatchObject({ structuredContent: { screen: { brightness: 5 } } });
    expect(JSON.stringify(body)).not.toContain('"volume"');
  });

  it.each([
    ["not JSON", "{", "bad_request", 400],
    ["a list", "[]", "bad_request", 400],
    ["nothing asked", "{}", "bad_request", 400],
    ["both asked", { action: "mute", function_call: { name: "self_mute" } }, "bad_request", 400],
    ["another type", { type: "mcp", action: "mute" }, "bad_request", 400],
    ["an action that is no text", { action: 5 }, "bad_request", 400],
    ["an empty action", { action: "" }, "bad_request", 400],
    ["a function without a name", { function_call: {} }, "bad_request", 400],
    ["arguments that are no object", { function_call: { name: "x", arguments: 5 } }, "bad_request", 400],
    ["a request_id that is an object", { action: "mute", request_id: {} }, "bad_request", 400],
    ["a timeout of 0", { action: "mute", timeoutMs: 0 }, "bad_request", 400],
    ["a timeout too long", { action: "mute", timeoutMs: 300_001 }, "bad_request", 400],
    ["300 KiB", { action: "mute", pad: "x".repeat(300 * 1024) }, "payload_too_large", 413],
  ])("[CTL-4] a body with %s is answered in the same format", async (_, body, code, status) => {
    const { site, speaker } = await openSpeaker();
    const answer = await site.rest("POST", controlPath, body);
    expect([answer.status, answer.body]).toMatchObject([
      status,
      {
        type: "device_control_response",
        request_id: expect.stringMatching(/^req_\d+$/),
        tools: [],
        ok: false,
        code,
        title: expect.any(String),
        detail: expect.any(String),
      },
    ]);
    expect(speaker.calls).toEqual([]);
  });

  it("[CTL-4] delivery failures have their own code and status", async () => {
    const clock = new ManualClock();
    const { site, speaker } = await openSpeaker({ clock });
    const unknown = await site.rest("POST", "/devices/no-such-device/control", {
      action: "mute",
      request_id: 1,
    });
    expect([unknown.status, unknown.body]).toMatchObject([
      404,
      {
        type: "device_control_response",
        request_id: 1,
        action: "mute",
        function: "self_mute",
        ok: false,
        code: "device_unknown",
      },
    ]);
    speaker.held = true;
    const slow = site.rest("POST", controlPath, { action: "get_volume", timeoutMs: 500, request_id: 2 });
    await speaker.called(1);
    clock.advance(500);
    expect((await slow).status).toBe(504);
    expect((await slow).body).toMatchObject({
      request_id: 2,
      code: "device_timeout",
      phase: "device",
      tools: [statusTool],
    });
    const broken = site.rest("POST", controlPath, { action: "get_volume", request_id: 3 });
    await speaker.called(2);
    speaker.device.cut();
    expect((await broken).status).toBe(502);
    expect((await broken).body).toMatchObject({ request_id: 3, code: "device_disconnected", sent: true });
    await until(async () => (await site.device(firstDevice))["online"] === false);
    const offline = await site.rest("POST", controlPath, { action: "set_volume", volume: 5, request_id: 4 });
    expect(offline.status).toBe(503);
    expect(offline.body).toMatchObject({
      request_id: 4,
      code: "device_offline",
      offlineSince: expect.any(String),
    });
  });

  it("[CTL-4] a tool result with isError fails the action, with that result", async () => {
    const { site, speaker } = await openSpeaker();
    const failed = { content: [{ type: "text", text: "no codec" }], isError: true };
    speaker.answers.set(volumeTool, () => ({ result: failed }));
    const { status, body } = await site.rest("POST", controlPath, { action: "set_volume", volume: 5 });
    expect([status, body]).toMatchObject([502, { code: "device_error", detail: "no codec", result: failed }]);
  });

  it("[CTL-4] accepts the device's alias and other spellings of its id", async () => {
    const { site, speaker } = await openSpeaker();
    const { alias } = await site.device(firstDevice);
    for (const name of [String(alias), "02-00-00-00-00-01", encodeURIComponent(firstDevice)]) {
      expect((await site.rest("POST", `/devices/${name}/control`, { action: "get_volume" })).status).toBe(
        200,
      );
    }
    expect(speaker.calls.length).toBe(3);
  });
});

describe("Idempotency-Key", () => {
  const key = { "idempotency-key": "k1" };

  it("[CALL-7] an action runs once; a repeat gets the first answer, another body is a conflict", async () => {
    const { site, speaker } = await openSpeaker();
    const ask = (step: number) => site.rest("POST", controlPath, { action: "volume_up", step }, key);
    const [first, second] = await Promise.all([ask(5), ask(5)]);
    const third = await ask(5);
    expect(first.body).toMatchObject({ ok: true });
    expect(second.body).toEqual(first.body);
    expect(third.body).toEqual(first.body);
    expect(speaker.volume).toBe(55);
    const other = await ask(6);
    expect([other.status, other.body]).toMatchObject([
      409,
      { type: "device_control_response", ok: false, code: "conflict" },
    ]);
    expect(speaker.volume).toBe(55);
  });

  it("[CALL-7] an action can be retried only if it never reached the device", async () => {
    const { site, speaker } = await openSpeaker();
    const ask = () => site.rest("POST", controlPath, { action: "set_volume", volume: 9 }, key);
    speaker.device.cut();
    await until(async () => (await site.device(firstDevice))["online"] === false);
    expect((await ask()).body).toMatchObject({ code: "device_offline" });
    const { token } = site.tendon.provision(firstDevice, "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a01").websocket;
    const device = await site.join({ token, tools: stockTools });
    const asked = ask();
    device.refuse((await device.nextRequest("tools/call")).id, "no");
    expect((await asked).body).toMatchObject({ code: "device_error", detail: "no" });
    expect((await ask()).body).toEqual((await asked).body);
    expect((await ask()).status).toBe(502);
    expect(await device.quiet()).toEqual([]);
    expect(adminToken).not.toBe(token);
  });
});

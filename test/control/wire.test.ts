import { describe, expect, it } from "vitest";
import { mqttTransport } from "../mqtt-wire.ts";
import { textContent, tool } from "../raw-device.ts";
import { firstDevice } from "../site.ts";
import { webSocketTransport } from "../websocket-wire.ts";
import {
  downTool,
  muteTool,
  nativeTools,
  openSpeaker,
  statusTool,
  stockTools,
  unmuteTool,
  upTool,
  volumeTool,
} from "./speaker.ts";

const controlPath = `/devices/${firstDevice}/control`;
const actions: readonly [string, Record<string, unknown>, string, string, Record<string, unknown>][] = [
  ["set_volume", { volume: 50 }, "self_set_volume", volumeTool, { volume: 50 }],
  ["volume_up", { step: 5 }, "self_volume_up", upTool, { step: 5 }],
  ["volume_down", { step: 5 }, "self_volume_down", downTool, { step: 5 }],
  ["get_volume", {}, "self_get_volume", statusTool, {}],
  ["mute", {}, "self_mute", muteTool, {}],
  ["unmute", {}, "self_unmute", unmuteTool, {}],
];

describe("device_control on the wire", () => {
  it.each(actions)(
    "[CTL-6][CTL-8] %s calls exactly the device's own tool",
    async (action, fields, functionName, name, args) => {
      const { site, speaker } = await openSpeaker({ tools: nativeTools });
      const { status, body } = await site.rest("POST", controlPath, {
        type: "device_control",
        action,
        ...fields,
        session_id: "of-an-app",
        request_id: "req_1",
      });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        type: "device_control_response",
        request_id: "req_1",
        action,
        function: functionName,
        tools: [name],
        ok: true,
        result: { isError: false },
      });
      const [call] = speaker.calls;
      expect(speaker.calls.length).toBe(1);
      expect(call?.frame).toEqual({
        type: "mcp",
        session_id: expect.any(String),
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        request_id: "req_1",
        payload: { jsonrpc: "2.0", method: "tools/call", params: { name, arguments: args }, id: call?.id },
      });
      expect(Number.isInteger(call?.id)).toBe(true);
      expect(call?.id).toBeGreaterThan(0);
      expect(call?.id).toBeLessThanOrEqual(2_147_483_647);
      expect(call?.frame["session_id"]).not.toBe("of-an-app");
    },
  );

  it.each(actions)(
    "[CTL-1] %s as a function call does the same",
    async (action, fields, functionName, name, args) => {
      const { site, speaker } = await openSpeaker({ tools: nativeTools });
      const { body } = await site.rest("POST", controlPath, {
        function_call: { name: functionName, arguments: fields },
        timestamp: "2026-01-01T00:00:00.000Z",
        request_id: "req_2",
      });
      expect(body).toMatchObject({
        request_id: "req_2",
        action,
        function: functionName,
        tools: [name],
        ok: true,
      });
      expect(speaker.calls).toMatchObject([{ name, arguments: args, frame: { request_id: "req_2" } }]);
    },
  );

  it.each([mqttTransport, webSocketTransport])(
    "[CTL-8] the envelope is the same over $name",
    async (transport) => {
      const { site, speaker } = await openSpeaker({ transport });
      await site.rest("POST", controlPath, { action: "volume_up", request_id: 17 });
      expect(speaker.names).toEqual([statusTool, volumeTool]);
      const [read, write] = speaker.calls.map(({ frame }) => frame);
      expect(read).toMatchObject({ request_id: 17, timestamp: write?.["timestamp"] });
      expect(write).toMatchObject({ request_id: 17 });
      const ids = speaker.calls.map(({ id }) => id);
      expect(new Set(ids).size).toBe(2);
    },
  );

  it("[CTL-8] a plain call has only its own fields in the envelope", async () => {
    const { site, speaker } = await openSpeaker();
    await site.call(firstDevice, volumeTool, { volume: 1 });
    expect(Object.keys(speaker.calls[0]?.frame ?? {}).sort()).toEqual(["payload", "session_id", "type"]);
  });
});

describe("an unmapped function", () => {
  it("[CTL-2][CTL-5] is forwarded as a tool with its own name, listed or not", async () => {
    const { site, speaker } = await openSpeaker({
      tools: [...stockTools, tool("self.lamp.on", { on: { type: "boolean" } })],
    });
    for (const name of ["self.lamp.on", "self_dance", "anything at all"]) {
      const { status, body } = await site.rest("POST", controlPath, {
        function_call: { name, arguments: { on: true } },
        request_id: name,
      });
      expect([status, body]).toMatchObject([
        200,
        { function: name, tools: [name], ok: true, request_id: name },
      ]);
      expect(body["action"]).toBeUndefined();
    }
    expect(speaker.names).toEqual(["self.lamp.on", "self_dance", "anything at all"]);
    expect(speaker.calls[1]?.arguments).toEqual({ on: true });
  });

  it("[CTL-5] is checked against the schema if there is one, and for values that a device would misread", async () => {
    const { site, speaker } = await openSpeaker();
    const wrong = await site.rest("POST", controlPath, {
      function_call: { name: volumeTool, arguments: { volume: "50" } },
    });
    expect([wrong.status, wrong.body]).toMatchObject([
      422,
      { code: "arguments_invalid", errors: [{ path: "/volume" }] },
    ]);
    const odd = await site.rest("POST", controlPath, {
      function_call: { name: "self_x", arguments: { n: 5_000_000_000 } },
    });
    expect([odd.status, odd.body]).toMatchObject([
      422,
      { code: "arguments_invalid", errors: [{ path: "/n" }] },
    ]);
    expect(speaker.calls).toEqual([]);
  });

  it("[CTL-4] that the device does not know fails with the device's error", async () => {
    const { site, speaker } = await openSpeaker();
    speaker.answers.set("self_dance", () => ({ error: { message: "Unknown tool: self_dance" } }));
    const { status, body } = await site.rest("POST", controlPath, { function_call: { name: "self_dance" } });
    expect([status, body]).toMatchObject([
      502,
      {
        ok: false,
        code: "device_error",
        detail: "Unknown tool: self_dance",
        tools: ["self_dance"],
        function: "self_dance",
      },
    ]);
    expect(speaker.calls[0]?.arguments).toEqual({});
  });

  it("[CTL-7] clears the stored level if it sets the volume", async () => {
    const { site, speaker } = await openSpeaker();
    await site.rest("POST", controlPath, { action: "mute" });
    await site.rest("POST", controlPath, { function_call: { name: volumeTool, arguments: { volume: 20 } } });
    await site.rest("POST", controlPath, { action: "unmute" });
    expect(speaker.volume).toBe(20);
  });
});

describe("the native tool", () => {
  it("[CTL-6] is used as soon as the device lists it, also during listing", async () => {
    const { site, speaker } = await openSpeaker();
    await site.rest("POST", controlPath, { action: "volume_up" });
    expect(speaker.names).toEqual([statusTool, volumeTool]);
    speaker.device.cut();
    const device = await site.connect({ transport: mqttTransport, deviceId: "02:00:00:00:00:02" });
    const asked = site.rest("POST", "/devices/02:00:00:00:00:02/control", { action: "volume_up", step: 3 });
    await device.setUp({ tools: nativeTools });
    const { id, params } = await device.nextRequest("tools/call");
    expect(params).toEqual({ name: upTool, arguments: { step: 3 } });
    device.reply(id, textContent("true"));
    expect((await asked).body).toMatchObject({ ok: true, tools: [upTool] });
  });

  it.each([
    ["volume_up", upTool],
    ["volume_down", downTool],
  ])("[CTL-6] %s has a step of 10 if none is given, as without a native tool", async (action, name) => {
    const { site, speaker } = await openSpeaker({ tools: nativeTools });
    await site.rest("POST", controlPath, { action });
    await site.rest("POST", controlPath, { action, step: 0 });
    await site.rest("POST", controlPath, { function_call: { name: `self_${action}` } });
    expect(speaker.calls).toMatchObject([
      { name, arguments: { step: 10 } },
      { name, arguments: { step: 0 } },
      { name, arguments: { step: 10 } },
    ]);
  });

  it("[CTL-6] gets no step if it takes none", async () => {
    const { site, speaker } = await openSpeaker({ tools: [...stockTools, tool(upTool)] });
    expect((await site.rest("POST", controlPath, { action: "volume_up" })).body).toMatchObject({ ok: true });
    expect(speaker.calls.map(({ name, arguments: args }) => [name, args])).toEqual([[upTool, {}]]);
  });
});

/**
 * The messages of "MCP Volume Control Workflow Documentation" as they are printed there, over REST and MQTT, with a virtual
 * board of stock firmware.
 */
import { VirtualDevice, webSocketTransport } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { MqttApp } from "../mqtt-app.ts";
import { openSite, type Site } from "../site.ts";

const mac = "68:25:dd:bb:4d:44";
const clientId = "0b6ff1d2-5a0e-4a52-8a64-5a60a6f0c0de";
const sessionId = "b3e1bdb3-5584-4476-ac70-b69353046e37_6825ddbb4d44";
const controlPath = `/devices/${mac}/control`;

const input = `{
  "type": "device_control",
  "action": "set_volume",
  "volume": 50,
  "session_id": "..."
}`;

const functionCall = `{
  "function_call": {
    "name": "self_set_volume",
    "arguments": {
      "volume": 50
    }
  },
  "timestamp": "2025-09-26T13:30:24.664Z",
  "request_id": "req_1758893424665"
}`;

const output = `{
  "type": "mcp",
  "payload": {
    "jsonrpc": "2.0",
    "method": "tools/call",
    "params": {
      "name": "self.audio_speaker.set_volume",
      "arguments": {
        "volume": 50
      }
    },
    "id": 1758893424665
  },
  "session_id": "${sessionId}",
  "timestamp": "2025-09-26T13:30:24.664Z",
  "request_id": "req_1758893424665"
}`;

const sample = `{
  "type": "device_control",
  "action": "set_volume",
  "volume": 75
}`;

async function open(transport: "websocket" | "mqtt") {
  const site = await openSite();
  const { mqtt, websocket } = site.tendon.provision(mac, clientId);
  const { url, token } = websocket;
  const board = new VirtualDevice({
    autoReconnect: false,
    board: { mac, clientId },
    ...(transport === "mqtt" ? { mqtt } : { transport: webSocketTransport({ url, token, version: 1 }) }),
  });
  onTestFinished(() => board.stop());
  const received: Record<string, unknown>[] = [];
  board.observe((event) => {
    if (event.kind === "frame" && event.direction === "in") received.push(JSON.parse(event.text));
  });
  await board.connect();
  await site.listed(mac);
  const app = await MqttApp.open(site);
  for (const topic of ["tendon/control", `tendon/devices/${mac}/control`])
    await app.wire.subscribe(`${topic}/reply`);
  return { site, app, received };
}

async function volumeOf(site: Site): Promise<unknown> {
  const { body } = await site.rest("POST", controlPath, { action: "get_volume" });
  return (body["result"] as { structuredContent: { volume: unknown } }).structuredContent.volume;
}

describe.each(["websocket", "mqtt"] as const)("the documented messages, to a board over %s", (transport) => {
  it("[CTL-1] input, function call and sample set the volume", async () => {
    const { site, app, received } = await open(transport);
    const set = { ok: true, action: "set_volume", function: "self_set_volume" };
    for (const [message, volume] of [
      [input, 50],
      [functionCall, 50],
      [sample, 75],
    ] as const) {
      await site.rest("POST", controlPath, { action: "set_volume", volume: 1 });
      expect((await site.rest("POST", controlPath, message)).body).toMatchObject(set);
      expect(await volumeOf(site)).toBe(volume);
      await site.rest("POST", controlPath, { action: "set_volume", volume: 1 });
      expect(await app.ask(`tendon/devices/${mac}/control`, message)).toMatchObject(set);
      expect(await volumeOf(site)).toBe(volume);
      await site.rest("POST", controlPath, { action: "set_volume", volume: 1 });
      const named = { ...JSON.parse(message), session_id: sessionId };
      expect(await app.ask("tendon/control", named)).toMatchObject(set);
      expect(await volumeOf(site)).toBe(volume);
    }
    // The output, with an id that the firmware can return, and with the time and the session of the gateway.
    const documented = JSON.parse(output) as { payload: object; request_id: string };
    const sent = received.find(({ request_id }) => request_id === documented.request_id);
    expect(sent).toEqual({
      ...documented,
      session_id: (await site.device(mac))["sessionId"],
      timestamp: expect.stringMatching(/Z$/),
      payload: { ...documented.payload, id: expect.any(Number) },
    });
    const { id } = (sent?.["payload"] ?? {}) as { id?: number };
    expect(id).toBeLessThanOrEqual(2_147_483_647);
  });

  it("[CTL-6] all commands of the table work on stock firmware", async () => {
    const { site, app } = await open(transport);
    const commands: [string, object, unknown][] = [
      ["set_volume", { volume: 40 }, 40],
      ["volume_up", { step: 5 }, 45],
      ["volume_down", { step: 15 }, 30],
      ["get_volume", {}, 30],
      ["mute", {}, 0],
      ["unmute", {}, 30],
    ];
    for (const [action, fields, volume] of commands) {
      const { body } = await site.rest("POST", controlPath, { type: "device_control", action, ...fields });
      expect(body).toMatchObject({ ok: true, action, function: `self_${action}` });
      expect(body["result"]).toMatchObject({ structuredContent: { volume } });
    }
    for (const [action, fields, volume] of commands) {
      const message = { function_call: { name: `self_${action}`, arguments: fields } };
      const answer = await app.ask(`tendon/devices/${mac}/control`, message);
      expect(answer).toMatchObject({ ok: true, action, result: { structuredContent: { volume } } });
    }
  });

  it("[CTL-4] the output and unknown names are answered, and not sent as they are", async () => {
    const { site, app } = await open(transport);
    expect(await app.ask(`tendon/devices/${mac}/control`, output)).toMatchObject({
      request_id: "req_1758893424665",
      code: "bad_request",
      detail: expect.stringContaining("/type must be `device_control`"),
    });
    const { payload } = JSON.parse(output) as { payload: object };
    expect((await site.rest("POST", `/devices/${mac}/mcp`, payload)).body).toMatchObject({
      id: 1758893424665,
      result: { isError: false },
    });
    expect((await site.rest("POST", controlPath, { action: "explode" })).body).toMatchObject({
      code: "action_unknown",
    });
    const unknown = { function_call: { name: "self_explode" } };
    expect((await site.rest("POST", controlPath, unknown)).body).toMatchObject({
      code: "device_error",
      detail: "Unknown tool: self_explode",
    });
  });
});

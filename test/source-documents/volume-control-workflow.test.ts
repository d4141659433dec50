/**
 * "MCP Volume Control Workflow Documentation": a gateway that turns `device_control` into tool calls. The document's own
 * gateway sends ids in milliseconds and calls tools that stock firmware lacks; the tests say where Tendon differs.
 */
import { VirtualDevice } from "@tendon/simulator";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { start } from "../../packages/cli/test/run-tendon.ts";
import { nativeTools, Speaker } from "../control/speaker.ts";
import type { Answer } from "../http-client.ts";
import { ManualClock } from "../manual-clock.ts";
import { MqttApp } from "../mqtt-app.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import type { Fields } from "../raw-device.ts";
import { firstDevice, type Site, startSite } from "../site.ts";
import { Example } from "./example.ts";
import { askBoard, boardAnswer } from "./protocol-site.ts";

/** The session of the document's output, whose end is the id of the board. */
const documentSession = "b3e1bdb3-5584-4476-ac70-b69353046e37_6825ddbb4d44";
const mac = "68:25:dd:bb:4d:44";
let site: Site;
/** A stock board over MQTT. */
let board: VirtualDevice;
/** A stock board over WebSocket. */
let other: VirtualDevice;
/** A device with firmware of its own that has a tool for each action. */
let speaker: Speaker;
/** The session of the speaker. */
let sessionId: string;

beforeAll(async () => {
  // The clock stands still: after 3 s the gateway would end the conversation that the hello opens.
  site = await startSite({ clock: new ManualClock() });
  const device = await site.join({ transport: mqttTransport, tools: nativeTools });
  await device.sayHello();
  await device.setUp({ tools: nativeTools });
  await site.listed(device.id);
  ({ sessionId } = device);
  const clientId = "00000000-0000-4000-8000-00000000000b";
  board = new VirtualDevice({ board: { mac, clientId }, mqtt: site.tendon.provision(mac, clientId).mqtt });
  other = new VirtualDevice({ url: site.tendon.addresses.deviceWebSocket });
  for (const stock of [board, other]) {
    await stock.connect();
    await site.listed(stock.id);
  }
  speaker = new Speaker(device, 50);
});

beforeEach(() => {
  speaker.calls.length = 0;
  speaker.answers.clear();
});

afterAll(async () => {
  await Promise.all([board.stop(), other.stop()]);
  await site.stop();
});

async function control(message: Fields, device = firstDevice): Promise<Answer> {
  return await site.rest("POST", `/devices/${device}/control`, message);
}

const actionToFunctionMap = {
  set_volume: "self_set_volume",
  volume_up: "self_volume_up",
  volume_down: "self_volume_down",
  get_volume: "self_get_volume",
  mute: "self_mute",
  unmute: "self_unmute",
};

const functionToMcpToolMap = {
  self_set_volume: "self.audio_speaker.set_volume",
  self_get_volume: "self.get_device_status",
  self_volume_up: "self.audio_speaker.volume_up",
  self_volume_down: "self.audio_speaker.volume_down",
  self_mute: "self.audio_speaker.mute",
  self_unmute: "self.audio_speaker.unmute",
};

const input = new Example(
  '{"type": "device_control", "action": "set_volume", "volume": 50, "session_id": "..."}',
);

const functionCall = new Example(`{
  "function_call": { "name": "self_set_volume", "arguments": { "volume": 50 } },
  "timestamp": "2025-09-26T13:30:24.664Z",
  "request_id": "req_1758893424665"
}`);

const output = new Example(`{
  "type": "mcp",
  "payload": {
    "jsonrpc": "2.0",
    "method": "tools/call",
    "params": { "name": "self.audio_speaker.set_volume", "arguments": { "volume": 50 } },
    "id": 1758893424665
  },
  "session_id": "${documentSession}",
  "timestamp": "2025-09-26T13:30:24.664Z",
  "request_id": "req_1758893424665"
}`);

/** The arguments of the one call that the device got. */
function onlyCall(): { readonly name: string; readonly arguments: Fields; readonly frame: Fields } {
  const [call, ...others] = speaker.calls;
  expect(others).toEqual([]);
  if (call === undefined) throw new TypeError("the device got no call");
  return call;
}

describe("Overview, Architecture Flow", () => {
  it("an app's device_control over MQTT becomes an MCP message, and then a tool of the board", async () => {
    const app = await MqttApp.open(site);
    const topic = `tendon/devices/${mac}/control`;
    await app.wire.subscribe(`${topic}/reply`);
    board.state.set("volume", 7);
    const frames: string[] = [];
    const stop = board.on("frame", ({ direction, text }) => {
      if (direction === "in") frames.push(text);
    });
    expect(await app.ask(topic, input.message({ session_id: "" }))).toMatchObject({ ok: true });
    stop();
    expect(frames.map((text) => JSON.parse(text) as Fields)).toMatchObject([
      { type: "mcp", payload: { method: "tools/call" } },
    ]);
    expect(board.state.get("volume")).toBe(50);
  });
});

describe("Message Format Transformation: Input: Device Control Format", () => {
  it("the example reaches the device of its session_id, and is answered", async () => {
    const app = await MqttApp.open(site);
    await app.wire.subscribe("tendon/control/reply");
    const answer = await app.ask("tendon/control", input.message({ session_id: sessionId }));
    expect(answer).toMatchObject({ type: "device_control_response", action: "set_volume", ok: true });
    expect(onlyCall()).toMatchObject({ arguments: { volume: 50 } });
  });

  it("a session_id as in the document names its device by its end", async () => {
    const app = await MqttApp.open(site);
    await app.wire.subscribe("tendon/control/reply");
    board.state.set("volume", 7);
    const answer = await app.ask("tendon/control", input.message({ session_id: documentSession }));
    expect(answer).toMatchObject({ action: "set_volume", ok: true });
    expect(board.state.get("volume")).toBe(50);
  });

  it("REST takes the example as it is", async () => {
    const { status, body } = await control(input.message());
    expect([status, body["ok"]]).toEqual([200, true]);
    expect(onlyCall()).toMatchObject({ arguments: { volume: 50 } });
  });
});

describe("Message Format Transformation: Conversion to MCP Function Call", () => {
  it.each(Object.entries(actionToFunctionMap))("the action %s is the function %s", async (action, name) => {
    const { body } = await control({ action, volume: 50 });
    expect(body).toMatchObject({ action, function: name, ok: true });
  });

  it("the function call of the example does the same, and keeps its request_id", async () => {
    const { body } = await control(functionCall.message());
    expect(body).toMatchObject({
      request_id: "req_1758893424665",
      action: "set_volume",
      function: "self_set_volume",
      ok: true,
    });
    expect(onlyCall()).toMatchObject({ name: "self.audio_speaker.set_volume", arguments: { volume: 50 } });
  });

  it("a missing request_id is made in the format of the example", async () => {
    const { body } = await control({ action: "mute" });
    expect(body["request_id"]).toMatch(/^req_\d{13}$/);
  });
});

describe("Message Format Transformation: Xiaozhi Function to MCP Tool Mapping", () => {
  it.each(Object.entries(functionToMcpToolMap))("the function %s calls the tool %s", async (name, tool) => {
    const { body } = await control({ function_call: { name, arguments: { volume: 50 } } });
    expect(body).toMatchObject({ function: name, tools: [tool], ok: true });
    expect(onlyCall().name).toBe(tool);
  });
});

describe("Message Format Transformation: Output: Final MCP Format", () => {
  it("the device gets the message of the example, with the gateway's own id and session", async () => {
    await control(functionCall.message());
    const { frame } = onlyCall();
    const { id, ...payload } = frame["payload"] as Fields;
    const expected = output.message() as { payload: Fields };
    expect({ ...frame, payload: { ...payload, id: expected.payload["id"] } }).toEqual({
      ...expected,
      session_id: sessionId,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(id).toSatisfy((value: number) => Number.isInteger(value) && value > 0 && value < 2 ** 31);
  });

  it("the output is no input: as a control message it is rejected, and as JSON-RPC it is a call", async () => {
    const { status, body } = await control(output.message());
    expect([status, body["code"], body["request_id"]]).toEqual([400, "bad_request", "req_1758893424665"]);
    const called = await site.rest("POST", `/devices/${mac}/mcp`, output.message());
    expect(called.body).toMatchObject({ id: 1_758_893_424_665, result: { isError: false } });
  });

  it("the id of the example differs: a board answers it as 2147483647, because its ids have 32 bits", async () => {
    const { payload } = output.message() as { payload: Fields };
    expect(await boardAnswer(payload)).toMatchObject({ id: 2_147_483_647, result: { isError: false } });
  });
});

describe("Implementation Details: Critical Requirements", () => {
  const { payload } = output.message() as { payload: Fields };

  it.each(["jsonrpc", "id", "method"])("a board does not answer a message without `%s`", async (field) => {
    expect(await boardAnswer({ ...payload, [field]: undefined })).toBeUndefined();
  });

  it("a board does not run a call without `params`", async () => {
    expect(await boardAnswer({ ...payload, params: undefined })).toMatchObject({
      error: { message: "Missing params" },
    });
  });

  it("the `id` must be a number: a board drops a text, and the gateway sends a number for it", async () => {
    expect(await boardAnswer({ ...payload, id: "1758893424665" })).toBeUndefined();
    const { body } = await site.rest("POST", `/devices/${mac}/mcp`, { ...payload, id: "1758893424665" });
    expect(body).toMatchObject({ id: "1758893424665", result: { isError: false } });
  });

  it("tool names must be exact", async () => {
    const params = { name: "self.audio_speaker.Set_Volume", arguments: { volume: 50 } };
    expect(await boardAnswer({ ...payload, params })).toMatchObject({
      error: { message: "Unknown tool: self.audio_speaker.Set_Volume" },
    });
    const { body } = await site.rest("POST", `/devices/${mac}/mcp`, { ...payload, params });
    expect(body).toMatchObject({ error: { data: { code: "tool_unknown" } } });
  });

  it("arguments must match the definition of the tool", async () => {
    for (const volume of ["50", 101, -1, undefined]) {
      const { status, body } = await control({ action: "set_volume", volume });
      expect([status, body["code"]]).toEqual([422, "arguments_invalid"]);
    }
    expect(speaker.calls).toEqual([]);
  });
});

const commands: readonly [action: string, functionName: string, tool: string, args: Fields][] = [
  ["set_volume", "self_set_volume", "self.audio_speaker.set_volume", { volume: 0 }],
  ["set_volume", "self_set_volume", "self.audio_speaker.set_volume", { volume: 100 }],
  ["volume_up", "self_volume_up", "self.audio_speaker.volume_up", { step: 5 }],
  ["volume_down", "self_volume_down", "self.audio_speaker.volume_down", { step: 5 }],
  ["get_volume", "self_get_volume", "self.get_device_status", {}],
  ["mute", "self_mute", "self.audio_speaker.mute", {}],
  ["unmute", "self_unmute", "self.audio_speaker.unmute", {}],
];

describe("Supported Volume Control Commands", () => {
  it.each(commands)("%s is %s and %s, with %j", async (action, functionName, name, args) => {
    const { body } = await control({ type: "device_control", action, ...args });
    expect(body).toMatchObject({ action, function: functionName, tools: [name], ok: true });
    expect(onlyCall()).toMatchObject({ name, arguments: args });
  });

  it.each(["MQTT", "WebSocket"])(
    "stock firmware differs: it has no tools for steps and mute, so the gateway composes them, over %s",
    async (over) => {
      const stock = over === "MQTT" ? board : other;
      const steps: readonly [action: string, fields: Fields, volume: number][] = [
        ["set_volume", { volume: 40 }, 40],
        ["volume_up", { step: 5 }, 45],
        ["volume_down", { step: 15 }, 30],
        ["get_volume", {}, 30],
        ["mute", {}, 0],
        ["unmute", {}, 30],
      ];
      for (const [action, fields, volume] of steps) {
        const { body } = await control({ action, ...fields }, stock.id);
        expect(body).toMatchObject({ ok: true, action, result: { structuredContent: { volume } } });
        expect(stock.state.get("volume")).toBe(volume);
      }
    },
  );
});

describe("Error Handling: Common Issues", () => {
  it("Invalid ID Error: a board logs an id that is a text, and answers nothing", async () => {
    const { payload } = output.message() as { payload: Fields };
    const log = ["Invalid id for method: tools/call"];
    expect(await askBoard({ ...payload, id: "1758893424665" })).toEqual({ answer: undefined, log });
  });

  it("Unknown Function: falls back to a tool call under its original name", async () => {
    const { body } = await control({ function_call: { name: "self_dance", arguments: { fast: true } } });
    expect(body).toMatchObject({ function: "self_dance", tools: ["self_dance"], ok: true });
    expect(onlyCall()).toMatchObject({ name: "self_dance", arguments: { fast: true } });
    // A board that has no such tool says so, and so does the answer.
    const { status, body: refused } = await control({ function_call: { name: "self_dance" } }, mac);
    expect([status, refused]).toMatchObject([
      502,
      { ok: false, code: "device_error", detail: "Unknown tool: self_dance" },
    ]);
    expect(await site.metric('tendon_control_unknown_total{kind="function"}')).toBe(2);
  });

  it("Unknown Action: is not processed, and is answered with the known actions", async () => {
    const { status, body } = await control({ type: "device_control", action: "explode" });
    expect([status, body]).toMatchObject([400, { ok: false, code: "action_unknown" }]);
    expect(body["known"]).toEqual(Object.keys(actionToFunctionMap));
    expect(speaker.calls).toEqual([]);
    expect(await site.metric('tendon_control_unknown_total{kind="action"}')).toBe(1);
  });
});

describe("Testing: Sample Device Control Command", () => {
  const sample = new Example('{"type": "device_control", "action": "set_volume", "volume": 75}');

  it("the sample sets the volume of a board over MQTT", async () => {
    const app = await MqttApp.open(site);
    const topic = `tendon/devices/${mac}/control`;
    await app.wire.subscribe(`${topic}/reply`);
    const called = board.waitFor("call");
    expect(await app.ask(topic, sample.message())).toMatchObject({ ok: true });
    expect(await called).toMatchObject({ tool: "self.audio_speaker.set_volume", arguments: { volume: 75 } });
    expect(board.state.get("volume")).toBe(75);
  });
});

describe("Testing: Expected ESP32 Log Output", () => {
  it("a virtual board prints its session, and each call with its arguments", async () => {
    const address = site.tendon.addresses.deviceWebSocket;
    const id = "02:00:00:00:00:0c";
    const printed = start(["simulate", "esp32", "--url", address, "--id", id]);
    onTestFinished(async () => void (await printed.end()));
    const [, session] = await printed.until("stdout", /connected, session (\S+)/);
    await site.listed(id);
    await control({ type: "device_control", action: "set_volume", volume: 75 }, id);
    await printed.until("stdout", /call self\.audio_speaker\.set_volume \{"volume":75\}/);
    const { body } = await site.rest("GET", `/devices/${id}/frames`);
    expect(JSON.parse(String((body["frames"] as Fields[]).at(-2)?.["text"]))).toMatchObject({
      type: "mcp",
      session_id: session,
    });
  });
});

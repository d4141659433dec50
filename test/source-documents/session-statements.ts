/** What the protocol page says about messages, the hello and `initialize`. */
import { expect, it } from "vitest";
import { mqttTransport } from "../mqtt-wire.ts";
import { type Fields, textContent } from "../raw-device.ts";
import { startSite } from "../site.ts";
import { webSocketTransport } from "../websocket-wire.ts";
import { exampleOf, type Section } from "./example.ts";
import { askBoard, boardAnswer, type Page, payloadOf, volumeTool } from "./protocol-site.ts";

const statusCall = { jsonrpc: "2.0", method: "tools/call", params: { name: "self.get_device_status" } };
const transports = [webSocketTransport, mqttTransport];

/** Replies of a device that break the format. Each ends its call at once, and the frames of the device say why. */
const wrongForms: readonly [title: string, wrong: (payload: Fields) => Fields][] = [
  ["a reply needs the envelope around it", (payload) => payload],
  ["a reply needs the type `mcp`", (payload) => ({ session_id: "", payload })],
  ["the payload is an object", (payload) => ({ type: "mcp", payload: JSON.stringify(payload) })],
  ["a reply needs `jsonrpc`", ({ id, result }) => ({ type: "mcp", payload: { id, result } })],
  [
    "a reply has the `id` as a number",
    (payload) => ({ type: "mcp", payload: { ...payload, id: `${payload["id"]}` } }),
  ],
];

export function messageFormat(page: Page, section: Section): void {
  const layout = exampleOf(section);

  it.each(transports)("MCP messages are wrapped in the message of $name", async (transport) => {
    const device = await page().rawDevice(transport);
    await device.greet();
    const frame = await device.nextFrame("mcp");
    expect(Object.keys(frame).sort()).toEqual(layout.keys().sort());
    expect(frame["type"]).toBe(layout.message()["type"]);
    expect(payloadOf(frame)).toMatchObject({ jsonrpc: "2.0", method: "initialize", params: {} });
    expect(layout.keys("payload")).toEqual(expect.arrayContaining(Object.keys(payloadOf(frame))));
  });

  it("a request has `method` and `params`, a response `result` or `error`, both the `id`", async () => {
    const request = { ...statusCall, id: 7 };
    const { body } = await page().send(request);
    expect(Object.keys(body).sort()).toEqual(["id", "jsonrpc", "result"]);
    const unknown = await page().send({ ...request, params: { name: "self.non_existent_tool" } });
    expect(Object.keys(unknown.body).sort()).toEqual(["error", "id", "jsonrpc"]);
    for (const key of [...Object.keys(request), "result", "error"])
      expect(layout.keys("payload")).toContain(key);
  });

  it("`jsonrpc` is always 2.0; the firmware drops and logs a message with another version", async () => {
    const old = { jsonrpc: "1.0", id: 1, method: "tools/list" };
    expect(await askBoard(old)).toEqual({ answer: undefined, log: ["Invalid JSONRPC version: 1.0"] });
    expect((await page().send(old)).status).toBe(400);
  });

  it("`params` is an object; the firmware drops and logs a list, so the gateway rejects it", async () => {
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: [] };
    const log = ["Invalid params for method: tools/list"];
    expect(await askBoard(list)).toEqual({ answer: undefined, log });
    expect((await page().send(list)).status).toBe(400);
  });

  it("`id` comes back as it was sent, texts too, because the gateway sends the board ids of its own", async () => {
    for (const id of [1, 0, "a-text", 1_758_893_424_665]) {
      expect((await page().send({ jsonrpc: "2.0", id, method: "tools/list" })).body["id"]).toBe(id);
    }
  });

  it("`id` on the board differs: its JSON parser makes a 32-bit integer of it, and it drops texts", async () => {
    expect(await boardAnswer({ ...statusCall, id: 1_758_893_424_665 })).toMatchObject({ id: 2_147_483_647 });
    expect(await boardAnswer({ ...statusCall, id: 3.99 })).toMatchObject({ id: 3 });
    const log = ["Invalid id for method: tools/call"];
    expect(await askBoard({ ...statusCall, id: "1" })).toEqual({ answer: undefined, log });
  });

  it("a whole message of this layout can be sent by hand", async () => {
    const { status, body } = await page().send(layout.message({ payload: { ...statusCall, id: 4 } }));
    expect([status, body]).toMatchObject([200, { id: 4, result: { isError: false } }]);
  });

  it.each(wrongForms)("%s", async (_, wrong) => {
    const device = await page().joined(webSocketTransport, { tools: [volumeTool] });
    const called = page().site.call(device.id, volumeTool.name, { volume: 50 });
    const { id } = await device.nextRequest("tools/call");
    device.send(wrong({ jsonrpc: "2.0", id, result: textContent("true") }));
    expect(await called).toMatchObject({ status: 502, body: { code: "device_error", sent: true } });
    const { body } = await page().site.rest("GET", `/devices/${device.id}/frames`);
    const { notUnderstood } = (body["frames"] as Fields[]).at(-1) ?? {};
    expect(notUnderstood).toMatch(/\w/);
  });
}

export function hello(page: Page, section: Section): void {
  const example = exampleOf(section);

  it.each(transports)("the gateway answers the example, over $name", async (transport) => {
    const device = await page().rawDevice(transport);
    // Over MQTT the connection alone makes a device known, so the gateway's first request may be on its way.
    if (!transport.beginsWithHello) await device.setUp();
    const over = transport.restName;
    const answer = await device.sayHello(example.message({ version: 1, transport: over }));
    expect(answer).toMatchObject({ transport: over, session_id: expect.stringMatching(/^[\w-]+$/) });
    expect(answer["session_id"]).not.toBe(example.message()["session_id"]);
    await device.setUp({ tools: [volumeTool] });
    await page().site.listed(device.id);
    expect(await page().site.device(device.id)).toMatchObject({ online: true, mcp: true });
  });

  it("MCP support is `mcp: true` in `features`; without it the gateway sends no MCP request", async () => {
    const device = await page().rawDevice(webSocketTransport);
    await device.greet(example.message({ version: 1, features: {} }));
    expect(await page().site.device(device.id)).toMatchObject({ online: true, mcp: false, toolCount: 0 });
    expect(await device.quiet()).toEqual([]);
  });

  it("the hello of a board differs: its `session_id` is set by the answer, so only later messages have it", async () => {
    const { frames } = await page().addBoard("WebSocket");
    const [first] = frames;
    expect(first?.from).toBe("device");
    expect(first?.frame).toMatchObject({ type: "hello", version: 1, transport: "websocket" });
    expect(first?.frame["features"]).toMatchObject({ mcp: true, glyph_push: expect.any(Boolean) });
    expect(first?.frame).not.toHaveProperty("session_id");
    const [, answer, ...later] = frames.filter(({ frame }) => frame["type"] !== "alert");
    for (const { frame } of later) expect(frame["session_id"]).toBe(answer?.frame["session_id"]);
  });

  it("over MQTT the firmware differs: it connects at boot, and its tools need no hello", async () => {
    const { board, frames } = await page().addBoard("MQTT");
    expect(frames.map(({ frame }) => frame["type"])).not.toContain("hello");
    expect((await page().site.call(board.id, volumeTool.name, { volume: 33 })).status).toBe(200);
  });
}

export function initialize(page: Page, section: Section): void {
  const request = exampleOf(section);
  const response = exampleOf(section, 1);

  it.each(transports)("is the first request of the gateway, over $name", async (transport) => {
    const device = await page().rawDevice(transport);
    await device.greet();
    const { message } = await device.nextRequest("initialize");
    const { clientInfo, protocolVersion, ...params } = message["params"] as Fields;
    expect({ ...message, id: 1, params }).toEqual(request.matcher);
    expect(params).toEqual({ capabilities: { vision: page().vision.capability, another: { since: 1 } } });
    expect({ clientInfo, protocolVersion }).toMatchObject({ protocolVersion: "2024-11-05" });
  });

  it("`vision.url` must be an http address, not a WebSocket address", async () => {
    const socket = { vision: { url: "ws://127.0.0.1:9/vision", token: "t" } };
    await expect(startSite({ config: { devices: { capabilities: socket } } })).rejects.toThrow(/http/);
  });

  it("a camera uploads its photos to that address, with that token", async () => {
    const { status, body } = await page().site.call(page().board.id, "self.camera.take_photo", {
      question: "What is this?",
    });
    expect(status).toBe(200);
    expect(body["result"]).toMatchObject({ content: [{ text: '{"success":true,"result":"A cup."}' }] });
    const { token } = page().vision.capability;
    expect(page().vision.authorizations).toEqual([`Bearer ${token}`]);
  });

  it("the capabilities are optional", async () => {
    expect(await boardAnswer(request.message({ params: {} }))).toEqual(response.matcher);
  });

  it("the board answers with its name and its firmware version, and with no tools yet", async () => {
    const sent = request.message();
    expect(await boardAnswer(sent)).toEqual(response.matcher);
    const { status, body } = await page().send(sent);
    expect(status).toBe(200);
    expect(body).toEqual(response.matcher);
    const { board, firmware } = await page().site.device(page().board.id);
    expect((body["result"] as Fields)["serverInfo"]).toEqual({ name: board, version: firmware });
  });

  it("the gateway shows what a device with the response of the example tells", async () => {
    const device = await page().rawDevice(webSocketTransport);
    await device.greet();
    device.sendMcp(response.message({ id: (await device.nextRequest("initialize")).id }));
    await device.list([volumeTool]);
    await page().site.listed(device.id);
    const shown = { board: "...", firmware: "...", protocolVersion: "2024-11-05", toolCount: 1 };
    expect(await page().site.device(device.id)).toMatchObject(shown);
  });

  it("the firmware differs: it answers other requests without it, because it keeps no MCP state", async () => {
    const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
    expect(await boardAnswer(list)).toMatchObject({ id: 2, result: { tools: expect.any(Array) } });
  });
}

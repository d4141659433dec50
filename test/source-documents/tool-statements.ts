/** What the protocol page says about tools, notifications and the order of the messages. */
import { expect, it } from "vitest";
import { MqttApp } from "../mqtt-app.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { type Fields, type ToolEntry, tool } from "../raw-device.ts";
import { webSocketTransport } from "../websocket-wire.ts";
import { exampleOf, type Section } from "./example.ts";
import { askBoard, boardAnswer, type Page, payloadOf, toolNamesIn, volumeTool } from "./protocol-site.ts";

/** The common tools of a board with a screen, a backlight and a camera, and the tools that this board adds. */
const commonTools = [
  "self.get_device_status",
  "self.audio_speaker.set_volume",
  "self.screen.set_brightness",
  "self.screen.set_theme",
  "self.camera.take_photo",
];
const ownTools = Array.from({ length: 10 }, (_, index) => `self.robot.move_${index}`);

export function toolsList(page: Page, section: Section): void {
  const request = exampleOf(section);
  const response = exampleOf(section, 1);

  it("a board answers the example with tools, their schemas and the cursor of the next page", async () => {
    const answer = await boardAnswer(request.message());
    expect(answer).toEqual(response.matcher);
    expect(answer).toMatchObject({ result: { nextCursor: "self.robot.move_7" } });
  });

  it("the gateway answers the example with all pages in one", async () => {
    const { status, body } = await page().send(request.message());
    expect(status).toBe(200);
    expect(body).toEqual({ jsonrpc: "2.0", id: 2, result: { tools: response.matcherAt("result", "tools") } });
    expect(toolNamesIn(body)).toEqual([...commonTools, ...ownTools]);
  });

  it("an empty cursor asks for the first page, as no cursor does", async () => {
    const { params: _, ...bare } = request.message();
    expect(await boardAnswer(request.message())).toEqual(await boardAnswer(bare));
  });

  const { withUserTools } = request.message()["params"] as Fields;
  if (withUserTools !== undefined)
    it("`withUserTools` is optional, and false by default", async () => {
      expect(withUserTools).toBe(false);
      const { body } = await page().send(request.message());
      expect((await page().send(request.message({ params: {} }))).body).toEqual(body);
      const last = { cursor: "self.robot.move_7", withUserTools: true };
      expect(JSON.stringify(await boardAnswer(request.message({ params: last })))).toContain('"self.reboot"');
      // The firmware takes a JSON true only.
      const one = { ...last, withUserTools: 1 };
      expect(JSON.stringify(await boardAnswer(request.message({ params: one })))).not.toContain(
        "self.reboot",
      );
    });

  it("the client asks again with the `nextCursor` of the example, until it is empty", async () => {
    const device = await page().rawDevice(webSocketTransport);
    await device.greet();
    device.reply((await device.nextRequest("initialize")).id, {});
    const answer = async (params: Fields, result: unknown) => {
      const asked = await device.nextRequest("tools/list");
      expect(asked.params).toEqual(params);
      device.reply(asked.id, result);
    };
    const { result } = response.message();
    const { tools } = result as { tools: readonly ToolEntry[] };
    const last = { tools: [tool("self.screen.set_theme")], nextCursor: "" };
    await answer({ withUserTools: true }, result);
    await answer({ withUserTools: true, cursor: "..." }, last);
    await answer({}, result);
    await answer({ cursor: "..." }, last);
    await page().site.listed(device.id);
    const names = [...tools, ...last.tools].map(({ name }) => name);
    expect(await page().site.toolNames(device.id)).toEqual(names);
    expect(await device.quiet()).toEqual([]);
  });

  it("the last page of a board differs: the firmware adds `nextCursor` only if a tool is left", async () => {
    const answer = await boardAnswer(request.message({ params: { cursor: "self.robot.move_7" } }));
    expect(Object.keys((answer as { result: Fields }).result)).toEqual(["tools"]);
  });
}

export function toolsCall(page: Page, section: Section): void {
  const request = exampleOf(section).message();
  const success = exampleOf(section, 1).message();
  const error = exampleOf(section, 2).message();

  it("the example sets the volume, and is answered as in the document", async () => {
    page().board.state.set("volume", 7);
    const { status, body } = await page().send(request);
    expect(status).toBe(200);
    expect(body).toEqual(success);
    expect(page().board.state.get("volume")).toBe(50);
    expect(await boardAnswer(request)).toEqual(success);
  });

  it("the answer comes after the tool has run", async () => {
    const device = await page().joined(webSocketTransport, { tools: [volumeTool] });
    let answered = false;
    const answer = page()
      .send(request, device)
      .finally(() => {
        answered = true;
      });
    const { id, params } = await device.nextRequest("tools/call");
    expect(params).toEqual(request["params"]);
    await device.quiet();
    expect(answered).toBe(false);
    device.sendMcp({ ...success, id });
    expect((await answer).body).toEqual(success);
  });

  it("a device's error reaches the caller with its code and message, and the caller's id", async () => {
    const device = await page().joined(mqttTransport, { tools: [volumeTool] });
    const answer = page().send(request, device);
    device.sendMcp({ ...error, id: (await device.nextRequest("tools/call")).id });
    const { body } = await answer;
    expect(body).toMatchObject(error);
    expect(body).toMatchObject({ error: { data: { code: "device_error", sent: true } } });
  });

  it("the error of a board differs: the firmware writes a message and no code", async () => {
    const message = "Unknown tool: self.non_existent_tool";
    const unknown = { ...request, params: { name: "self.non_existent_tool", arguments: {} } };
    expect(error["error"]).toEqual({ code: -32_601, message });
    expect(await boardAnswer(unknown)).toEqual({ jsonrpc: "2.0", id: 3, error: { message } });
  });

  it("the gateway answers for a tool that the device has not listed, and sends nothing", async () => {
    const device = await page().joined(webSocketTransport, { tools: [volumeTool] });
    const { body } = await page().send({ ...request, params: { name: "self.non_existent_tool" } }, device);
    expect(body).toMatchObject({ id: 3, error: { data: { code: "tool_unknown" } } });
    expect(await device.quiet()).toEqual([]);
  });
}

export function notifications(page: Page, section: Section): void {
  const message = exampleOf(section).message();
  const { method, params } = message;

  it.each([webSocketTransport, mqttTransport])(
    "the example becomes an event, and gets no answer, over $name",
    async (transport) => {
      const device = await page().joined(transport, {});
      const events = await page().site.events("?type=device.notification");
      device.sendMcp(message);
      expect(await events.next()).toMatchObject({ device: device.id, data: { method, params } });
      expect(await device.quiet()).toEqual([]);
      events.close();
    },
  );

  it("an app hears of it over MQTT", async () => {
    const device = await page().joined(mqttTransport, {});
    const app = await MqttApp.open(page().site);
    const topic = `tendon/devices/${device.id}/events/state_changed`;
    await app.wire.subscribe(topic);
    device.sendMcp(message);
    expect(await app.next(topic)).toMatchObject({ params });
  });

  it("the method can be any other", async () => {
    const device = await page().joined(webSocketTransport, {});
    const events = await page().site.events("?type=device.notification");
    device.notify("custom/method", params);
    expect((await events.next()).data).toEqual({ method: "custom/method", params });
    events.close();
  });

  it("the other direction: the gateway sends the example without waiting for an answer; a board ignores it", async () => {
    const device = await page().joined(webSocketTransport, {});
    const { status, text } = await page().send(message, device);
    expect([status, text]).toEqual([202, ""]);
    expect(await device.nextMcp()).toEqual(message);
    expect(await askBoard(message)).toEqual({ answer: undefined, log: [] });
  });

  it("stock firmware differs: it sends MCP messages only as replies; firmware of one's own can do more", async () => {
    const { board, frames } = await page().addBoard("WebSocket");
    await page().site.call(board.id, "self.get_device_status");
    const fromBoard = frames.filter(({ from, frame }) => from === "device" && frame["type"] === "mcp");
    expect(fromBoard.filter(({ frame }) => payloadOf(frame)["method"] !== undefined)).toEqual([]);
    const events = await page().site.events("?type=device.notification");
    board.notify(String(method), params as { newState: string });
    expect((await events.next()).data).toEqual({ method, params });
    events.close();
  });
}

/** What each message is, in the words of the diagram. */
function label(from: string, frame: Fields): string {
  if (frame["type"] !== "mcp") return `${from}: ${String(frame["type"])}`;
  const { method, params, result, error } = payloadOf(frame);
  const { cursor, withUserTools } = (params ?? {}) as Fields;
  if (method !== undefined) {
    const parts = [
      method,
      withUserTools === true ? "withUserTools" : "",
      cursor === undefined ? "" : "cursor",
    ];
    return `${from}: ${parts.filter((part) => part !== "").join(" ")}`;
  }
  const what = result === undefined ? "error" : "result";
  return `${from}: ${what}${((result ?? error) as Fields)["nextCursor"] === undefined ? "" : " nextCursor"}`;
}

export function diagram(page: Page): void {
  // With user-only tools, which this firmware marks: a list without them would tell nothing more.
  const listing = [
    "gateway: initialize",
    "device: result",
    "gateway: tools/list withUserTools",
    "device: result nextCursor",
    "gateway: tools/list withUserTools cursor",
    "device: result",
  ];
  const calls = [
    "gateway: tools/call",
    "device: result",
    "gateway: tools/call",
    "device: error",
    "device: notifications/state_changed",
  ];

  it.each(["WebSocket", "MQTT"] as const)(
    "the messages go over %s in the order of the diagram",
    async (over) => {
      const { site } = page();
      const { board, frames } = await page().addBoard(over);
      await site.call(board.id, volumeTool.name, { volume: 50 });
      await site.rest("POST", `/devices/${board.id}/control`, {
        function_call: { name: "self.non_existent_tool" },
      });
      const events = await site.events("?type=device.notification");
      board.notify("notifications/state_changed", { newState: "idle", oldState: "connecting" });
      await events.next();
      events.close();
      const shown = frames.filter(({ frame }) => frame["type"] === "mcp" || frame["type"] === "hello");
      // Over MQTT a stock board sends its hello only when a person talks to it.
      const greeting = over === "MQTT" ? [] : ["device: hello", "gateway: hello"];
      expect(shown.map(({ from, frame }) => label(from, frame))).toEqual([...greeting, ...listing, ...calls]);
    },
  );
}

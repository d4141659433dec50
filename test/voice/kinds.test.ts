import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { firmwareHello } from "../raw-device.ts";
import { openUpstream, openVoiceSite, receivedBy } from "./voice-site.ts";

async function talking() {
  const upstream = await openUpstream();
  const site = await openVoiceSite(upstream.server.url);
  const device = await site.connect();
  device.send(firmwareHello);
  device.sessionId = String((await device.nextFrame("hello"))["session_id"]);
  const connection = await upstream.connections.take();
  await device.setUp();
  return { device, connection };
}

describe("every kind of text", () => {
  it("[VOI-3][VOI-4] passes from the voice server to the board unchanged", async () => {
    const { device, connection } = await talking();
    const ours = device.sessionId;
    for (const text of [
      '{"type":"tts","state":"start","session_id":"ID"}',
      '{ "session_id" : "ID", "type": "stt",  "text": "a \\u00e9 \\"session_id\\":\\"ID\\" 你好" }',
      '{"type":"llm","emotion":"happy","text":"🙂"}',
      '{"type":"alert","status":"s","message":"m","emotion":"sad","session_id":"ID"}',
      '{"type":"system","command":"dance"}',
      '{"type":"custom","payload":{"deep":{"session_id":"ID"},"n":1.50},"session_id":"ID"}',
      '{"type":"goodbye","session_id":"another"}',
      '{"type":"something-new","x":[1,2,3]}',
    ]) {
      const theirs = text.replaceAll('"ID"', JSON.stringify(connection.sessionId));
      connection.sayRaw(theirs);
      expect(await device.wire.nextText()).toBe(text.replaceAll('"ID"', JSON.stringify(ours)));
    }
  });

  it("[VOI-3][VOI-4][DEV-20, DEV-21] passes from the board to the voice server unchanged", async () => {
    const { device, connection } = await talking();
    const texts = [
      '{"session_id":"ID","type":"listen","state":"start","mode":"auto"}',
      '{"session_id":"ID","type":"listen","state":"start","mode":"a-mode-of-tomorrow"}',
      '{"session_id":"ID","type":"listen","state":"detect","text":"你好"}',
      '{"session_id":"","type":"listen","state":"stop"}',
      '{"session_id":"a-stale-one","type":"abort","reason":"wake_word_detected"}',
      '{"session_id":"ID","type":"custom","payload":{"a":1}}',
      '{"session_id":"ID","type":"something-new","x":1}',
    ];
    for (const text of texts) device.sendText(text.replace('"ID"', JSON.stringify(device.sessionId)));
    const expected = texts.map((text) => text.replace('"ID"', JSON.stringify(connection.sessionId)));
    await until(() => receivedBy(connection).length === expected.length + 1, "all of them");
    expect(receivedBy(connection).slice(1)).toEqual(expected);
  });

  it("[VOI-4] does not reach the voice server if it is broken or answers the gateway", async () => {
    const { device, connection } = await talking();
    device.sendText("not JSON");
    device.sendText('{"no":"type"}');
    device.sendText('{"session_id":"x","type":"mcp","payload":7}');
    device.sendMcp({ jsonrpc: "2.0", id: 99, result: {} });
    device.sendText(
      '{"session_id":"x","type":"mcp","payload":{"jsonrpc":"2.0","id":5,"error":{"message":"a"b"}}}',
    );
    device.send({ type: "abort", session_id: device.sessionId });
    await until(() => receivedBy(connection).some((text) => text.includes("abort")), "the last one");
    expect(receivedBy(connection).length).toBe(2);
    expect(JSON.stringify(connection.received)).not.toContain("99");
  });
});

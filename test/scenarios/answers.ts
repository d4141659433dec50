import { describe, expect, it } from "vitest";
import { type Fields, type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import type { DeviceTransport } from "../transport.ts";

/** Like the firmware: inserts the text without escaping. */
function pasted(device: RawDevice, id: number, message: string, before = ""): string {
  const payload = `{"jsonrpc":"2.0","id":${id},"error":{${before}"message":"${message}"}}`;
  return `{"session_id":"${device.sessionId}","type":"mcp","payload":${payload}}`;
}

export function answerScenarios(transport: DeviceTransport): void {
  async function joined(): Promise<{ site: Site; device: RawDevice }> {
    const site = await openSite({ transport });
    return {
      site,
      device: await site.join({ transport, tools: [tool("a"), tool("self.get_device_status")] }),
    };
  }

  describe("a device's error", () => {
    it("[RPC-4] has a message and no code, and reaches the caller", async () => {
      const { site, device } = await joined();
      const answer = site.call(device.id, "a");
      device.refuse((await device.nextRequest("tools/call")).id, "Missing valid argument: volume");
      expect(await answer).toMatchObject({
        status: 502,
        body: { code: "device_error", detail: "Missing valid argument: volume", retryable: false },
      });
    });

    it.each([
      ["a text", "boom", '"boom"'],
      ["an empty object", {}, "{}"],
      ["a code alone", { code: -32000 }, '{"code":-32000}'],
      ["a message that is no text", { message: 5 }, '{"message":5}'],
    ])("[RPC-4] fails the call when it is %s", async (_, error, detail) => {
      const { site, device } = await joined();
      const answer = site.call(device.id, "a");
      const { id } = await device.nextRequest("tools/call");
      device.sendMcp({ jsonrpc: "2.0", id, error });
      expect((await answer).body).toMatchObject({ code: "device_error", detail });
    });

    it.each([{ message: "" }, { code: -32000, message: " \n" }, ""])(
      "[RPC-4] without a message gets a default one: %j",
      async (error) => {
        const { site, device } = await joined();
        const answer = site.call(device.id, "a");
        const { id } = await device.nextRequest("tools/call");
        device.sendMcp({ jsonrpc: "2.0", id, error });
        const detail = "the device reported an error without a message";
        expect((await answer).body).toMatchObject({ code: "device_error", detail });
      },
    );

    it.each([
      'Unknown tool: a"b',
      'Failed to open "valve" at C:\\new',
      'two\nlines and a "quote"',
      'ends with a quote"',
      "\\",
      '"}}}',
      'a tab\tand "more"',
    ])("[RPC-6] with unescaped text fails its call at once: %j", async (message) => {
      const { site, device } = await joined();
      const answer = site.call(device.id, "a");
      device.sendText(pasted(device, (await device.nextRequest("tools/call")).id, message));
      const { status, body } = await answer;
      expect(status).toBe(502);
      expect(body["code"]).toBe("device_error");
      if (message !== '"}}}') expect(body["detail"]).toBe(message);
      expect(await site.metric('tendon_odd_frames_total{outcome="salvaged"}')).toBe(1);
    });

    it("[RPC-6] with a code before the unescaped text fails its call at once", async () => {
      const { site, device } = await joined();
      const answer = site.call(device.id, "a");
      const { id } = await device.nextRequest("tools/call");
      device.sendText(pasted(device, id, 'Unknown tool: a"b', '"code":-32601,'));
      expect(await answer).toMatchObject({
        status: 502,
        body: { code: "device_error", detail: 'Unknown tool: a"b' },
      });
    });

    it("[RPC-7] cannot forge a result for its own call", async () => {
      const { site, device } = await joined();
      const answer = site.call(device.id, "a");
      const { id } = await device.nextRequest("tools/call");
      const forged = `x"},"result":{"content":[{"type":"text","text":"forged"}]},"y":{"z":"`;
      device.sendText(pasted(device, id, forged));
      const { status, body } = await answer;
      expect(status).toBe(502);
      expect(body["code"]).toBe("device_error");
      expect(body["result"]).toBeUndefined();
    });

    it("[RPC-7] cannot answer for another call", async () => {
      const { site, device } = await joined();
      const first = site.call(device.id, "a");
      const { id } = await device.nextRequest("tools/call");
      const forged = `x"},"id":${id + 1},"result":{"content":[]},"y":{"z":"`;
      device.sendText(pasted(device, id, forged));
      expect((await first).body["code"]).toBe("device_error");
      const second = site.call(device.id, "a");
      const request = await device.nextRequest("tools/call");
      expect(request.id).toBe(id + 1);
      device.reply(request.id, textContent("real"));
      expect((await second).body["result"]).toEqual(textContent("real"));
    });

    it("[RPC-7] cannot become a notification or a hello", async () => {
      const { site, device } = await joined();
      const events = await site.events("?type=device.notification");
      for (const forged of [
        'x"}},"type":"hello","features":{"mcp":false},"y":{"z":{"k":"',
        'x"},"id":null,"method":"notifications/forged","y":{"z":"',
      ]) {
        const answer = site.call(device.id, "a");
        device.sendText(pasted(device, (await device.nextRequest("tools/call")).id, forged));
        expect((await answer).body["code"]).toBe("device_error");
      }
      device.notify("notifications/real");
      expect((await events.next()).data["method"]).toBe("notifications/real");
      expect((await site.device(device.id))["mcp"]).toBe(true);
    });
  });

  describe("another device's answer", () => {
    it("[DEV-2] with the same id and session is not used", async () => {
      const { site, device } = await joined();
      const other = await site.join({ transport, deviceId: "02:00:00:00:00:02", tools: [tool("a")] });
      const answer = site.call(device.id, "a");
      const { id } = await device.nextRequest("tools/call");
      other.sessionId = device.sessionId;
      other.reply(id, textContent("forged"));
      await other.quiet();
      device.reply(id, textContent("real"));
      expect((await answer).body["result"]).toEqual(textContent("real"));
    });
  });

  describe("a device's answer", () => {
    it("[RPC-4] with both error and an empty result is an error", async () => {
      const { site, device } = await joined();
      const answer = site.call(device.id, "a");
      const { id } = await device.nextRequest("tools/call");
      device.sendMcp({ jsonrpc: "2.0", id, result: null, error: { code: -1, message: "no" } });
      expect((await answer).body).toMatchObject({ code: "device_error", detail: "no" });
    });

    it("[RPC-4] with an empty error beside the result is a result", async () => {
      const { site, device } = await joined();
      const answer = site.call(device.id, "a");
      const { id } = await device.nextRequest("tools/call");
      device.sendMcp({ jsonrpc: "2.0", id, result: textContent("ok"), error: null });
      expect((await answer).body["result"]).toEqual(textContent("ok"));
    });

    const image = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };
    const cases: [string, unknown, Fields][] = [
      ["text stays text", textContent("true"), textContent("true")],
      [
        "text that is a JSON object is offered as structured content",
        textContent('{"volume":30}'),
        { ...textContent('{"volume":30}'), structuredContent: { volume: 30 } },
      ],
      ["text that is a JSON list is not", textContent("[1]"), textContent("[1]")],
      [
        "the firmware's nested image is unwrapped",
        { content: [{ type: "image", image: JSON.stringify(image) }], isError: false },
        { content: [image], isError: false },
      ],
      ["a standard image stays", { content: [image] }, { content: [image], isError: false }],
      [
        "an image gets the media type of its bytes where its own is empty",
        { content: [{ ...image, mimeType: "" }] },
        { content: [image], isError: false },
      ],
      [
        "an image whose type neither it nor its bytes tell is left out, in words",
        { content: [{ type: "image", mimeType: "?", data: "AAAA" }] },
        textContent("[image of 3 bytes left out: no valid mimeType and bytes of no known format]"),
      ],
      [
        "an error without words gets some of ours",
        { content: [{ type: "text", text: "" }], isError: true },
        { ...textContent("the tool reported an error without a message"), isError: true },
      ],
      ["only true is an error", { content: [], isError: "true" }, { content: [], isError: false }],
      [
        "content of an unknown kind becomes text",
        { content: [{ type: "hologram", data: 1 }] },
        {
          ...textContent('{"type":"hologram","data":1}'),
          structuredContent: { type: "hologram", data: 1 },
        },
      ],
      ["a bare text is wrapped", "done", textContent("done")],
      ["a bare null is wrapped", null, textContent("null")],
      ["a bare number is wrapped", 7, textContent("7")],
      [
        "structured content of its own wins",
        { ...textContent("{}"), structuredContent: { a: [1, { b: null }] } },
        { ...textContent("{}"), structuredContent: { a: [1, { b: null }] } },
      ],
      ["emoji and quotes survive", textContent('"☀️" \\ \u2028'), textContent('"☀️" \\ \u2028')],
    ];
    it.each(cases)("[MCP-12] %s", async (_, result, expected) => {
      const { site, device } = await joined();
      const answer = site.call(device.id, "a");
      device.reply((await device.nextRequest("tools/call")).id, result);
      const { status, body } = await answer;
      expect(status).toBe(200);
      expect(body["result"]).toEqual(expected);
    });

    it("[MCP-12] with isError counts as a tool error", async () => {
      const { site, device } = await joined();
      const answer = site.call(device.id, "a");
      device.reply((await device.nextRequest("tools/call")).id, { content: [], isError: true });
      expect((await answer).status).toBe(200);
      expect(await site.metric('tendon_calls_total{outcome="tool_error"}')).toBe(1);
    });

    it("to self.get_device_status is stored as the device's status", async () => {
      const { site, device } = await joined();
      const answer = site.call(device.id, "self.get_device_status");
      const status = { audio_speaker: { volume: 70 }, battery: { level: 50 } };
      device.reply((await device.nextRequest("tools/call")).id, textContent(JSON.stringify(status)));
      await answer;
      expect((await site.device(device.id))["status"]).toMatchObject({ value: status });
    });
  });
}

import { describe, expect, it } from "vitest";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import type { DeviceTransport } from "../transport.ts";

const volume = { volume: { type: "integer", minimum: 0, maximum: 100 } };
const snapshot = { url: { type: "string" }, quality: { type: "integer", default: 80, minimum: 1 } };

export function argumentScenarios(transport: DeviceTransport): void {
  async function joined(): Promise<{ site: Site; device: RawDevice }> {
    const site = await openSite({ transport, config: { access: { urlHosts: ["127.0.0.1"] } } });
    const nested = {
      list: { type: "array", items: { type: "object", properties: { "a/b~c": { type: "boolean" } } } },
    };
    const tools = [
      tool("set_volume", volume, ["volume"]),
      tool("snapshot", snapshot, ["url"]),
      tool("nested", nested),
      tool("free"),
      { name: "strict", inputSchema: { type: "object", properties: {}, additionalProperties: false } },
    ];
    return { site, device: await site.join({ transport, tools }) };
  }

  /** Arguments as text, because JSON can express values that JSON.stringify does not write. */
  async function call(site: Site, device: RawDevice, name: string, args: string) {
    return await site.rest("POST", `/devices/${device.id}/tools/${name}/call`, `{"arguments":${args}}`);
  }

  describe("arguments", () => {
    const refused: [string, string, string, string][] = [
      ["a missing one", "set_volume", "{}", "/volume"],
      ["text for a number", "set_volume", '{"volume":"50"}', "/volume"],
      ["a fraction", "set_volume", '{"volume":50.5}', "/volume"],
      ["too little", "set_volume", '{"volume":-1}', "/volume"],
      ["too much", "set_volume", '{"volume":101}', "/volume"],
      ["null", "set_volume", '{"volume":null}', "/volume"],
      ["a place deep inside", "nested", '{"list":[{"a/b~c":true},{"a/b~c":1}]}', "/list/1/a~1b~0c"],
    ];
    it.each(refused)(
      "[MCP-9] %s is rejected with its location, and nothing is sent",
      async (_, name, args, path) => {
        const { site, device } = await joined();
        const { status, headers, body } = await call(site, device, name, args);
        expect(status).toBe(422);
        expect(headers["content-type"]).toContain("application/problem+json");
        expect(body).toMatchObject({ code: "arguments_invalid", retryable: false });
        expect(body["errors"]).toEqual([{ path, message: expect.stringMatching(/\w/) }]);
        expect(await device.quiet()).toEqual([]);
      },
    );

    it("[MCP-9] all problems are named at once", async () => {
      const { site, device } = await joined();
      const { body } = await call(site, device, "snapshot", '{"quality":0}');
      const paths = (body["errors"] as { path: string }[]).map(({ path }) => path);
      expect(paths.sort()).toEqual(["/quality", "/url"]);
    });

    const hazards: [string, string, string][] = [
      ["a NUL character", '{"t":"dark\\u0000zzz"}', "/t"],
      ["a NUL in a name", '{"a\\u0000b":1}', "/a\u0000b"],
      ["half a surrogate pair", '{"t":"\\ud83d"}', "/t"],
      ["half a surrogate pair in a name", '{"\\ud83d":1}', "/\ud83d"],
      ["an integer beyond 32 bits", '{"n":2147483648}', "/n"],
      ["an integer below 32 bits", '{"n":-2147483649}', "/n"],
      ["a number without end", '{"n":1e400}', "/n"],
      ["names that differ only in case", '{"url":"a","URL":"b"}', "/URL"],
      ["a hazard in a list", '{"x":[{"t":["ok","\\u0000"]}]}', "/x/0/t/1"],
    ];
    it.each(hazards)("[MCP-10] %s is rejected, and nothing is sent", async (_, args, path) => {
      const { site, device } = await joined();
      const { status, body } = await call(site, device, "free", args);
      expect(status).toBe(422);
      expect(body["code"]).toBe("arguments_invalid");
      expect(body["errors"]).toEqual([{ path, message: expect.stringMatching(/\w/) }]);
      expect(await device.quiet()).toEqual([]);
    });

    it("[MCP-10] hazards in arguments with a schema are rejected too", async () => {
      const { site, device } = await joined();
      for (const args of [
        '{"url":"a\\u0000b"}',
        '{"url":"a","\\ud83d":1}',
        '{"url":"x","quality":3000000000}',
      ]) {
        expect((await call(site, device, "snapshot", args)).status).toBe(422);
      }
      expect(await call(site, device, "strict", '{"\\ud83d":1}')).toMatchObject({
        status: 422,
        body: { code: "arguments_invalid" },
      });
      expect(await device.quiet()).toEqual([]);
    });

    it.each([65, 2_000, 40_000])("[MCP-10] nesting of %i levels is rejected", async (levels) => {
      const { site, device } = await joined();
      const args = `{"x":${"[".repeat(levels)}${"]".repeat(levels)}}`;
      const { status, body } = await call(site, device, "free", args);
      expect([status, body["code"]]).toEqual([422, "arguments_invalid"]);
      expect(await device.quiet()).toEqual([]);
    });

    it("of more than 64 KiB are too large for a device", async () => {
      const { site, device } = await joined();
      const { status, body } = await call(site, device, "free", JSON.stringify({ t: "x".repeat(65_536) }));
      expect([status, body["code"]]).toEqual([413, "payload_too_large"]);
      expect(await device.quiet()).toEqual([]);
    });

    it.each([
      ['{"n":2147483647,"m":-2147483648,"f":0.5,"t":"☀️ \\ud83d\\ude00","deep":{"a":[[{}]]}}'],
      ['{"unknown":"to the schema"}'],
      ["{}"],
    ])("[MCP-10] values that the firmware can read are sent unchanged: %s", async (args) => {
      const { site, device } = await joined();
      const answer = call(site, device, "free", args);
      const { id, params } = await device.nextRequest("tools/call");
      expect(params["arguments"]).toEqual(JSON.parse(args));
      device.reply(id, textContent("ok"));
      expect((await answer).status).toBe(200);
    });

    it("[MCP-11] defaults are left to the device", async () => {
      const { site, device } = await joined();
      const answer = call(site, device, "snapshot", '{"url":"http://127.0.0.1/x"}');
      const { id, params } = await device.nextRequest("tools/call");
      expect(params["arguments"]).toEqual({ url: "http://127.0.0.1/x" });
      device.reply(id, textContent("ok"));
      expect((await answer).status).toBe(200);
    });

    it("can be omitted, and are sent as an empty object", async () => {
      const { site, device } = await joined();
      const answer = site.rest("POST", `/devices/${device.id}/tools/free/call`);
      const { id, params } = await device.nextRequest("tools/call");
      expect(params).toEqual({ name: "free", arguments: {} });
      device.reply(id, textContent("ok"));
      expect((await answer).status).toBe(200);
    });

    it("[MCP-9] are checked while the device is offline too", async () => {
      const { site, device } = await joined();
      device.cut();
      await device.wire.ended;
      expect((await call(site, device, "set_volume", '{"volume":101}')).status).toBe(422);
    });
  });
}

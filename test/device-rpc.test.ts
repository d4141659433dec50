import { describe, expect, it } from "vitest";
import { type Fields, textContent, tool } from "./raw-device.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

async function send(site: Site, message: Fields) {
  return await site.rest("POST", `/devices/${firstDevice}/mcp`, { jsonrpc: "2.0", ...message });
}

describe("JSON-RPC to a device", () => {
  it.each([1, 0, -5, 1.5, 4_294_967_296, "1", "", "a-string", null])(
    "is answered with the caller's id %j",
    async (id) => {
      const site = await openSite();
      const device = await site.join({ tools: [tool("a")] });
      const answer = send(site, { id, method: "tools/call", params: { name: "a", arguments: { x: 1 } } });
      const request = await device.nextRequest("tools/call");
      expect(request.id).not.toBe(id);
      expect(request.params).toEqual({ name: "a", arguments: { x: 1 } });
      device.reply(request.id, textContent("ok"));
      expect(await answer).toMatchObject({
        status: 200,
        body: { jsonrpc: "2.0", id, result: textContent("ok") },
      });
      expect((await answer).body["error"]).toBeUndefined();
    },
  );

  it("answers initialize from known data and sends nothing to the device", async () => {
    const site = await openSite();
    const device = await site.join({ board: "desk", firmware: "2.4.2" });
    const { body } = await send(site, {
      id: 1,
      method: "initialize",
      params: { capabilities: { vision: {} } },
    });
    expect(body["result"]).toEqual({
      protocolVersion: "2024-11-05",
      capabilities: { tools: {} },
      serverInfo: { name: "desk", version: "2.4.2" },
    });
    expect(await device.quiet()).toEqual([]);
  });

  it("answers tools/list from the last list, with user-only tools only on request", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")], userTools: [tool("u")] });
    const names = async (params?: Fields) => {
      const { body } = await send(site, {
        id: 1,
        method: "tools/list",
        ...(params === undefined ? {} : { params }),
      });
      return (body["result"] as { tools: { name: string }[] }).tools.map(({ name }) => name);
    };
    expect(await names()).toEqual(["a"]);
    expect(await names({ withUserTools: true })).toEqual(["a", "u"]);
    expect(await names({ withUserTools: 1 })).toEqual(["a"]);
    expect(await device.quiet()).toEqual([]);
  });

  it("forwards any other method for an administrator", async () => {
    const site = await openSite();
    const device = await site.join();
    const answer = send(site, { id: "x", method: "custom/method", params: { deep: { a: [1] } } });
    const request = await device.nextRequest("custom/method");
    expect(request.params).toEqual({ deep: { a: [1] } });
    device.reply(request.id, { any: ["thing", null] });
    expect((await answer).body).toEqual({ jsonrpc: "2.0", id: "x", result: { any: ["thing", null] } });
  });

  it("reports failures as JSON-RPC errors with Tendon's code", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a", { x: { type: "integer" } }, ["x"])] });
    const refused = send(site, { id: 1, method: "tools/call", params: { name: "a", arguments: { x: 1 } } });
    device.refuse((await device.nextRequest("tools/call")).id, "no memory");
    expect(await refused).toMatchObject({
      status: 200,
      body: { id: 1, error: { code: 502, message: "no memory", data: { code: "device_error", sent: true } } },
    });
    const cases: [Fields, number, string][] = [
      [{ name: "nothing" }, -32_602, "tool_unknown"],
      [{ name: "a", arguments: { x: "1" } }, -32_602, "arguments_invalid"],
      [{ name: "a", arguments: [] }, -32_600, "bad_request"],
      [{ arguments: {} }, -32_600, "bad_request"],
    ];
    for (const [params, code, tendonCode] of cases) {
      const { status, body } = await send(site, { id: 2, method: "tools/call", params });
      expect(status).toBe(200);
      expect(body).toMatchObject({ id: 2, error: { code, data: { code: tendonCode } } });
    }
    expect(await device.quiet()).toEqual([]);
    device.cut();
    await device.wire.ended;
    const away = await send(site, {
      id: 3,
      method: "tools/call",
      params: { name: "a", arguments: { x: 1 } },
    });
    expect(away.body).toMatchObject({ error: { code: 503, data: { code: "device_offline" } } });
  });

  it.each([
    ["a batch", "[]"],
    ["no version", '{"id":1,"method":"tools/list"}'],
    ["another version", '{"jsonrpc":"1.0","id":1,"method":"tools/list"}'],
    ["no method", '{"jsonrpc":"2.0","id":1}'],
    ["params that are a list", '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}'],
    ["an id that is an object", '{"jsonrpc":"2.0","id":{},"method":"tools/list"}'],
  ])("rejects %s as a bad request", async (_, body) => {
    const site = await openSite();
    await site.join();
    const answer = await site.rest("POST", `/devices/${firstDevice}/mcp`, body);
    expect([answer.status, answer.body["code"]]).toEqual([400, "bad_request"]);
  });
});

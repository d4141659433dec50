import { describe, expect, it } from "vitest";
import { as, makeToken } from "./access/tokens.ts";
import { openAgent } from "./mcp/agent.ts";
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

  it("sends a notification at once, past a running call, and answers 202", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const running = send(site, { id: 1, method: "tools/call", params: { name: "a" } });
    const request = await device.nextRequest("tools/call");
    const sent = await send(site, { method: "notifications/cancelled", params: { requestId: 7 } });
    expect([sent.status, sent.text]).toEqual([202, ""]);
    expect(await device.nextMcp()).toEqual({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: 7 },
    });
    device.reply(request.id, textContent("ok"));
    expect((await running).body["result"]).toEqual(textContent("ok"));
    const { calls } = (await site.rest("GET", "/calls")).body as { calls: Fields[] };
    expect(calls).toContainEqual(expect.objectContaining({ tool: "notifications/cancelled", outcome: "ok" }));
  });

  it("sends a notification only for administrators, to a device that is there", async () => {
    const site = await openSite();
    const device = await site.join();
    const { token } = await makeToken(site, { scopes: ["read", "call"] });
    const message = { jsonrpc: "2.0", method: "notifications/initialized" };
    const path = `/devices/${firstDevice}/mcp`;
    const refused = await site.rest("POST", path, message, as(token));
    expect([refused.status, refused.body["code"]]).toEqual([403, "forbidden"]);
    expect(await device.quiet()).toEqual([]);
    device.cut();
    await device.wire.ended;
    expect((await site.rest("POST", path, message)).body["code"]).toBe("device_offline");
  });

  it.each([
    ["tools/call", { params: { name: "a", arguments: {} } }],
    ["tools/list", {}],
    ["custom/method", {}],
    ["notifications/cancelled", { id: 5 }],
  ])("rejects %s with a wrong id, and sends nothing", async (method, rest: Fields) => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const { status, body } = await send(site, { method, ...rest });
    expect([status, body["code"]]).toEqual([400, "bad_request"]);
    expect(body["detail"]).toContain(`\`${method}\``);
    expect(await device.quiet()).toEqual([]);
  });

  it("accepts a whole envelope and answers its payload", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const envelope = (payload: Fields) => ({ session_id: "...", type: "mcp", payload });
    const path = `/devices/${firstDevice}/mcp`;
    const payload = { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "a", arguments: {} } };
    const answer = site.rest("POST", path, envelope(payload));
    device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
    expect((await answer).body).toEqual({ jsonrpc: "2.0", id: 3, result: textContent("ok") });
    const note = envelope({ jsonrpc: "2.0", method: "notifications/x" });
    expect((await site.rest("POST", path, note)).status).toBe(202);
    for (const wrong of [{ ...envelope(payload), payload: "text" }, { type: "hello" }, envelope({})]) {
      expect((await site.rest("POST", path, wrong)).status).toBe(400);
    }
  });

  it("passes the code and data of the device's own error through", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const error = { code: -32_001, message: "too hot", data: { celsius: 91 } };
    const fail = async () => {
      const { id } = await device.nextRequest("tools/call");
      device.sendMcp({ jsonrpc: "2.0", id, error });
    };
    const raw = send(site, { id: 1, method: "tools/call", params: { name: "a" } });
    await fail();
    const deviceError = { code: -32_001, data: { celsius: 91 } };
    expect((await raw).body).toMatchObject({
      error: {
        code: -32_001,
        message: "too hot",
        data: { celsius: 91, code: "device_error", sent: true, deviceError },
      },
    });
    const rest = site.rest("POST", `/devices/${firstDevice}/tools/a/call`);
    await fail();
    expect(await rest).toMatchObject({
      status: 502,
      body: { code: "device_error", detail: "too hot", deviceError },
    });
    const agent = await openAgent(site, "modern");
    const called = agent.callTool({ name: "raw-board-0001__a", arguments: {} });
    await fail();
    expect(await called).toMatchObject({
      isError: true,
      _meta: { "tendon/error": { code: "device_error", deviceError } },
    });
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

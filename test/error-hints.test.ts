/** Errors say what to do: what the gateway accepts instead, with an example or a limit. */
import { describe, expect, it } from "vitest";
import { askAll } from "./http-client.ts";
import { until } from "./inbox.ts";
import { tool } from "./raw-device.ts";
import { adminToken, firstDevice, openSite } from "./site.ts";

const authorization = `Bearer ${adminToken}`;

describe("a rejected REST request", () => {
  it.each([
    [undefined, "the body has no content type; send it with `Content-Type: application/json`"],
    [
      "application/x-www-form-urlencoded",
      "a body of the type `application/x-www-form-urlencoded` is not accepted; send it with `Content-Type: application/json`",
    ],
  ])("with the content type %s names the right one", async (type, detail) => {
    const site = await openSite();
    const { status, body } = await askAll(site.url, {
      method: "POST",
      path: "/api/v1/devices/x/tools/y/call",
      headers: { authorization, ...(type === undefined ? {} : { "content-type": type }) },
      body: '{"arguments":{}}',
    });
    expect([status, body["code"], body["detail"]]).toEqual([400, "bad_request", detail]);
  });

  it("with a wrong choice names the possible ones", async () => {
    const site = await openSite();
    const { status, body } = await site.rest("GET", "/overview?range=2h");
    expect([status, body["detail"]]).toEqual([400, "/range must be one of `15m`, `1h` and `24h`"]);
  });

  it("with a wrong time shows a right one", async () => {
    const site = await openSite();
    const { body } = await site.rest("GET", "/calls?since=yesterday");
    expect(body["detail"]).toBe("/since must be a time such as `2027-01-31T08:00:00Z`");
  });

  it("with a long body names the limit", async () => {
    const site = await openSite();
    const long = { arguments: { x: "x".repeat(257 * 1024) } };
    const { status, body } = await site.rest("POST", "/devices/x/tools/y/call", long);
    expect([status, body["detail"]]).toEqual([413, "the body is larger than 262144 bytes (256 KiB)"]);
  });

  it("with a tool's arguments beside `arguments` says where they belong", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("a")] });
    const { status, body } = await site.rest("POST", `/devices/${firstDevice}/tools/a/call`, { volume: 20 });
    expect([status, body["detail"]]).toEqual([
      400,
      '/volume is not a known property; send the arguments of the tool as `{"arguments":{…}}`',
    ]);
    expect(body["errors"]).toEqual([{ path: "/volume", message: "is not a known property" }]);
  });

  it.each([
    ["DELETE", "/devices", "GET, HEAD"],
    ["PUT", "/devices/desk", "GET, HEAD, PATCH, DELETE"],
    ["GET", "/devices/desk/tools/self.reboot/call/", "POST"],
  ])("with the method %s at %s names the methods", async (method, path, allow) => {
    const site = await openSite();
    const { status, headers, body } = await site.rest(method, path);
    expect(status).toBe(405);
    expect(headers["content-type"]).toBe("application/problem+json; charset=utf-8");
    expect(headers["allow"]?.split(", ").sort()).toEqual(allow.split(", ").sort());
    expect(body).toMatchObject({ status: 405, code: "not_found", retryable: false });
    expect(body["detail"]).toMatch(new RegExp(`^there is no route ${method} .*; the methods there are `));
  });
});

describe("every error says whether a repeat can help", () => {
  it("in results of a fan-out, in JSON-RPC errors and in device_control replies", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const many = await site.rest("POST", "/calls", { target: { devices: [device.id, "nobody"] }, tool: "b" });
    expect(many.body["results"]).toMatchObject([
      { error: { code: "tool_unknown", retryable: false } },
      { error: { code: "device_unknown", retryable: false } },
    ]);
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "b" } };
    const rpc = await site.rest("POST", `/devices/${device.id}/mcp`, message);
    expect(rpc.body["error"]).toMatchObject({ data: { code: "tool_unknown", retryable: false } });
    const control = await site.rest("POST", `/devices/${device.id}/control`, { action: "dance" });
    expect(control.body).toMatchObject({ ok: false, code: "action_unknown", retryable: false });
    const unreadable = await site.rest("POST", `/devices/${device.id}/control`, { action: 5 });
    expect(unreadable.body).toMatchObject({ ok: false, code: "bad_request", retryable: false });
    device.cut();
    await until(async () => (await site.device(device.id))["online"] === false);
    const offline = await site.rest("POST", "/calls", { target: { devices: [device.id] }, tool: "a" });
    expect(offline.body["results"]).toMatchObject([{ error: { code: "device_offline", retryable: true } }]);
  });
});

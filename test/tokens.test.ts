import type { TokenRequest } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { unusedName } from "./access/tokens.ts";
import { askAll } from "./http-client.ts";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { MqttApp } from "./mqtt-app.ts";
import { type Fields, textContent, tool } from "./raw-device.ts";
import { openSite, type Site } from "./site.ts";

const first = "02:00:00:00:00:01";
const second = "02:00:00:00:00:02";

interface Made {
  readonly id: string;
  readonly token: string;
}

async function make(site: Site, request: Partial<TokenRequest>): Promise<Made> {
  const { status, body } = await site.rest("POST", "/tokens", {
    scopes: ["read", "call"],
    ...request,
    name: unusedName(site, request.name),
  });
  expect(status).toBe(201);
  return body as unknown as Made;
}

function as(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

describe("a token", () => {
  it("[TOK-1] is shown once and stored as a hash", async () => {
    const site = await openSite();
    const { id, token } = await make(site, { name: "for the agent" });
    expect(token).toMatch(/^tdn_[A-Za-z0-9_-]{32}$/);
    const { body, text } = await site.rest("GET", "/tokens");
    expect(body["tokens"]).toMatchObject([
      { id, name: "for the agent", scopes: ["read", "call"], expiresAt: null },
    ]);
    expect(text).not.toContain(token);
  });

  it.each(["admin", " Admin ", "gateway", "voice-server", "console:ann", "Console:ann", "  "])(
    "cannot have the reserved name %j",
    async (name) => {
      const site = await openSite();
      const { status, body } = await site.rest("POST", "/tokens", { name, scopes: ["read"] });
      expect({ status, code: body["code"] }).toEqual({ status: 400, code: "bad_request" });
      expect(body["detail"]).toMatch(/^\/name .*(reserved|not a space)/);
      expect((await site.rest("GET", "/tokens")).body["tokens"]).toEqual([]);
    },
  );

  it("[TOK-1] has a name that no other token has, until it is revoked or expires", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const create = async (more: object = {}) =>
      await site.rest("POST", "/tokens", { name: "agent", scopes: ["read"], ...more });
    const first = await create();
    const second = await create({ scopes: ["call"] });
    expect([second.status, second.body["code"], second.body["detail"]]).toEqual([
      409,
      "conflict",
      "a token named `agent` exists already; choose another name, or revoke that token first",
    ]);
    expect((await site.rest("GET", "/tokens")).body["tokens"]).toHaveLength(1);
    await site.rest("DELETE", `/tokens/${String(first.body["id"])}`);
    const expiresAt = new Date(clock.now() + 60_000).toISOString();
    const atOnce = await Promise.all([1, 2, 3, 4, 5].map(() => create({ expiresAt })));
    expect(atOnce.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
    clock.advance(60_000);
    expect((await create()).status).toBe(201);
    const { body } = await site.rest("GET", "/audit?action=token.create");
    expect(body["entries"]).toHaveLength(3);
  });

  it("[TOK-1] is listed with who created it, its last use, and the addresses of both", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const admin = await make(site, { name: "ann", scopes: ["admin"] });
    const request = { name: "by ann", scopes: ["read"] };
    await site.rest("POST", "/tokens", request, as(admin.token));
    clock.advance(1_000);
    await until(async () => {
      const { body } = await site.rest("GET", "/tokens");
      const [ann, made] = body["tokens"] as Fields[];
      expect(made).toMatchObject({
        createdBy: "ann",
        createdFrom: "127.0.0.1",
        lastUsedAt: null,
        lastUsedFrom: null,
      });
      return ann?.["createdBy"] === "admin" && ann["lastUsedFrom"] === "127.0.0.1";
    }, "the last use of the token");
  });

  it("[TOK-3] cannot read figures of the whole fleet if it is limited to some devices", async () => {
    const site = await openSite({ config: { http: { trustProxy: true } } });
    const limited = await make(site, { scopes: ["read"], devices: { tags: ["floor-1"] } });
    const reader = await make(site, { scopes: ["read"] });
    const outside = { "x-forwarded-for": "192.0.2.9" };
    for (const path of ["/metrics", "/api/v1/nodes", "/api/v1/overview"]) {
      const read = async (token: string) =>
        await askAll(site.url, { path, headers: { ...as(token), ...outside } });
      const refused = await read(limited.token);
      expect([refused.status, refused.body["code"]], path).toEqual([403, "forbidden"]);
      expect(refused.body["detail"]).toContain("covers all devices");
      expect((await read(reader.token)).status, path).toBe(200);
    }
  });

  it("[TOK-3] cannot administer tokens, nor read the audit and the settings, if it is limited to some devices", async () => {
    const site = await openSite();
    const limited = await make(site, { scopes: ["read", "admin"], devices: { tags: ["floor-1"] } });
    const other = await make(site, { scopes: ["read"] });
    const requests = [
      ["POST", "/tokens", { name: "unlimited", scopes: ["admin"] }],
      ["GET", "/tokens"],
      ["DELETE", `/tokens/${other.id}`],
      ["GET", "/audit"],
      ["GET", "/settings"],
    ] as const;
    for (const [method, path, body] of requests) {
      const refused = await site.rest(method, path, body, as(limited.token));
      expect([refused.status, refused.body["code"]], `${method} ${path}`).toEqual([403, "forbidden"]);
    }
    expect((await site.rest("GET", "/devices", undefined, as(other.token))).status).toBe(200);
  });

  it("[TOK-2] allows what its scopes include and nothing else", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")], userTools: [tool("self.reboot")] });
    const reader = await make(site, { scopes: ["read"] });
    const caller = await make(site, { scopes: ["call"] });
    const person = await make(site, { scopes: ["call", "call:user"] });
    const call = (token: string, name: string) =>
      site.rest("POST", `/devices/${device.id}/tools/${name}/call`, {}, as(token));
    expect((await site.rest("GET", "/devices", undefined, as(reader.token))).status).toBe(200);
    expect((await call(reader.token, "a")).body).toMatchObject({ code: "forbidden", scope: "call" });
    expect((await site.rest("GET", "/devices", undefined, as(caller.token))).body["code"]).toBe("forbidden");
    expect((await call(caller.token, "self.reboot")).body).toMatchObject({
      code: "forbidden",
      scope: "call:user",
    });
    const answer = call(person.token, "self.reboot");
    device.reply((await device.nextRequest("tools/call")).id, textContent("true"));
    expect((await answer).status).toBe(200);
    for (const at of ["/tokens", "/calls"]) {
      expect((await site.rest("GET", at, undefined, as(caller.token))).body["code"]).toBe("forbidden");
    }
    const provision = { id: second, clientId: "another-client" };
    expect((await site.rest("POST", "/devices/provision", provision, as(person.token))).body["code"]).toBe(
      "forbidden",
    );
  });

  it("[TOK-2] sees which of a device's tools it may use", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")], userTools: [tool("self.reboot")] });
    const { token } = await make(site, {});
    const { body } = await site.rest("GET", `/devices/${device.id}/tools?user=true`, undefined, as(token));
    expect(body["tools"]).toMatchObject([
      { name: "a", access: "allowed" },
      { name: "self.reboot", access: "denied" },
    ]);
  });

  it("[TOK-3] can be limited by aliases and to boards that have not connected yet, but not by unknown names", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("a")] });
    await site.rest("PATCH", `/devices/${first}`, { alias: "desk" });
    await site.rest("PATCH", `/devices/${first}`, { alias: "kitchen" });
    const ids = ["kitchen", "desk", first.toUpperCase(), "02:00:00:00:00:AB"];
    const { status, body } = await site.rest("POST", "/tokens", {
      name: "limited",
      scopes: ["read"],
      devices: { ids },
    });
    expect([status, body["devices"]]).toEqual([201, { ids: [first, "02:00:00:00:00:ab"], tags: [] }]);
    await site.rest("PATCH", `/devices/${first}`, { alias: "hall" });
    const seen = await site.rest("GET", "/devices", undefined, as(String(body["token"])));
    expect(seen.body["devices"]).toMatchObject([{ id: first }]);
    const refused = await site.rest("POST", "/tokens", {
      name: "x",
      scopes: ["read"],
      devices: { ids: [first, "ghost"] },
    });
    expect([refused.status, refused.body["code"]]).toEqual([400, "bad_request"]);
    expect(refused.body["detail"]).toContain("`ghost`");
  });

  it("[TOK-3] limited to some devices sees no others, on every interface", async () => {
    const site = await openSite();
    const one = await site.join({ tools: [tool("a")] });
    const other = await site.join({ deviceId: second, tools: [tool("a")] });
    const { token } = await make(site, { scopes: ["read", "call"], devices: { ids: [first] } });
    const ask = (method: string, at: string, body?: unknown) => site.rest(method, at, body, as(token));
    expect((await ask("GET", "/devices")).body["devices"]).toMatchObject([{ id: first }]);
    for (const at of [`/devices/${second}`, `/devices/${second}/tools`]) {
      expect((await ask("GET", at)).body["code"]).toBe("device_unknown");
    }
    expect((await ask("POST", `/devices/${second}/tools/a/call`, {})).body["code"]).toBe("device_unknown");
    const rpc = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    expect((await ask("POST", `/devices/${second}/mcp`, rpc)).body["code"]).toBe("device_unknown");
    expect((await ask("POST", `/devices/${second}/control`, { action: "mute" })).body["code"]).toBe(
      "device_unknown",
    );
    const fanOut = ask("POST", "/calls", { target: { all: true }, tool: "a" });
    one.reply((await one.nextRequest("tools/call")).id, textContent("ok"));
    expect((await fanOut).body["results"]).toMatchObject([{ device: first, ok: true }]);
    const both = ask("POST", "/calls", { target: { devices: [first, second] }, tool: "a" });
    one.reply((await one.nextRequest("tools/call")).id, textContent("ok"));
    expect((await both).body["results"]).toMatchObject([{ ok: true }, { error: { code: "device_unknown" } }]);
    const events = await site.events("?type=device.notification", as(token));
    other.notify("of-the-other");
    one.notify("of-its-own");
    expect((await events.next()).data["method"]).toBe("of-its-own");
    await site.call(second, "missing");
    const { body } = await ask("GET", "/calls");
    expect((body["calls"] as { device: string }[]).every(({ device }) => device === first)).toBe(true);
    expect(await other.quiet()).toEqual([]);
  });

  it("[TOK-4] is rejected when it is expired or revoked, and its open connections are closed", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const soon = new Date(clock.now() + 60_000).toISOString();
    const brief = await make(site, { expiresAt: soon });
    const ended = await make(site, {});
    const events = await site.events("", as(ended.token));
    const app = await MqttApp.open(site, { token: ended.token });
    clock.advance(60_000);
    expect((await site.rest("GET", "/devices", undefined, as(brief.token))).status).toBe(401);
    expect((await site.rest("DELETE", `/tokens/${ended.id}`)).status).toBe(204);
    await app.wire.ended;
    await events.ended;
    expect((await site.rest("GET", "/devices", undefined, as(ended.token))).status).toBe(401);
    expect((await site.rest("DELETE", `/tokens/${ended.id}`)).body["code"]).toBe("not_found");
  });

  it("[TOK-4] loses its open connections within a second of its expiry", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = await site.join({ tools: [tool("a")] });
    const brief = await make(site, { expiresAt: new Date(clock.now() + 5_000).toISOString() });
    const lasting = await make(site, { expiresAt: new Date(clock.now() + 60_000).toISOString() });
    const events = await site.events("", as(brief.token));
    const app = await MqttApp.open(site, { token: brief.token });
    const other = await MqttApp.open(site, { token: lasting.token });
    clock.advance(4_000);
    await app.wire.ping();
    clock.advance(2_000);
    app.publish(`tendon/devices/${device.id}/call`, { request_id: 1, tool: "a", arguments: {} });
    await app.wire.ended;
    await events.ended;
    await other.wire.ping();
    expect(await device.quiet()).toEqual([]);
  });

  it.each([
    [{ scopes: [] }],
    [{ scopes: ["everything"] }],
    [{ name: "" }],
    [{ expiresAt: "2001-01-01T00:00:00Z" }],
    [{ colour: "red" }],
  ])("is not created by an invalid request: %j", async (wrong) => {
    const site = await openSite();
    const { status, body } = await site.rest("POST", "/tokens", { name: "x", scopes: ["read"], ...wrong });
    expect([status, body["code"]]).toEqual([400, "bad_request"]);
  });
});

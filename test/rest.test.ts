import { describe, expect, it } from "vitest";
import { askAll } from "./http-client.ts";
import { until } from "./inbox.ts";
import { textContent, tool } from "./raw-device.ts";
import { adminToken, firstDevice, openSite } from "./site.ts";

const bearer = { authorization: `Bearer ${adminToken}` };

describe("a REST request", () => {
  it.each([
    ["no token", {}],
    ["an empty token", { authorization: "Bearer " }],
    ["a wrong token", { authorization: "Bearer wrong-token-wrong-token" }],
    ["the right token in another scheme", { authorization: `Basic ${adminToken}` }],
    ["two tokens", { authorization: `Bearer ${adminToken} ${adminToken}` }],
  ])("[CALL-1] with %s is unauthenticated, before any other check", async (_, headers) => {
    const site = await openSite();
    for (const [method, path, body] of [
      ["GET", "/devices", undefined],
      ["GET", "/devices/no-such-device", undefined],
      ["POST", "/devices/no-such-device/tools/x/call", "{broken"],
      ["POST", "/devices/no-such-device/mcp", "[]"],
      ["GET", "/events", undefined],
      ["POST", "/devices/provision", "{}"],
    ] as const) {
      const answer = await askAll(site.url, {
        method,
        path: `/api/v1${path}`,
        headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        body,
      });
      expect(answer.status).toBe(401);
      expect(answer.headers["www-authenticate"]).toMatch(/^Bearer realm="tendon"/);
      expect(answer.headers["content-type"]).toContain("application/problem+json");
      expect(answer.body).toMatchObject({ code: "unauthenticated", status: 401, title: expect.any(String) });
    }
    expect(await site.metric("tendon_sign_ins_failed_total")).toBe(6);
  });

  it("with the token in the query is not authenticated", async () => {
    const site = await openSite();
    const answer = await askAll(site.url, { path: `/api/v1/devices?token=${adminToken}` });
    expect(answer.status).toBe(401);
  });

  it.each(["https://evil.example", "http://127.0.0.1.evil.example", "null", "file://", "garbage"])(
    "from the page %s is forbidden, whatever body and token",
    async (origin) => {
      const site = await openSite();
      for (const headers of [bearer, {}]) {
        const answer = await askAll(site.url, {
          method: "POST",
          path: "/api/v1/devices/provision",
          headers: { ...headers, origin, "content-type": "application/json" },
          body: "{broken",
        });
        expect([answer.status, answer.body["code"]]).toEqual([403, "forbidden"]);
      }
    },
  );

  it.each(["/%61pi/v1/devices", "/api%2Fv1/devices", "//api/v1/devices", "http://127.0.0.1/api/v1/devices"])(
    "from a foreign page is rejected for the spelling %s too",
    async (path) => {
      const site = await openSite();
      const answer = await askAll(site.url, { path, headers: { ...bearer, origin: "https://evil.example" } });
      expect(answer.status).not.toBe(200);
      expect(answer.body["devices"]).toBeUndefined();
    },
  );

  it.each(["http://127.0.0.1:1", "http://localhost:5173", "http://[::1]:8000"])(
    "from a page of this machine (%s) is served, whatever its port",
    async (origin) => {
      const site = await openSite();
      expect((await site.rest("GET", "/devices", undefined, { origin })).status).toBe(200);
    },
  );

  it.each([
    ["evil.example", 403],
    ["evil.example:80", 403],
    ["127.0.0.1.evil.example", 403],
    ["127.0.0.1", 200],
    ["127.0.0.1:1", 200],
    ["LOCALHOST:8000", 200],
    ["[::1]", 200],
  ])("to the host %s is answered with %i", async (host, status) => {
    const site = await openSite();
    for (const path of ["/api/v1/devices", "/api/v1/openapi.json", "/docs"]) {
      expect((await askAll(site.url, { path, headers: { ...bearer, host } })).status).toBe(status);
    }
  });

  it("to the host of http.publicUrl is served", async () => {
    const site = await openSite({ config: { http: { publicUrl: "https://tendon.example/" } } });
    const headers = { ...bearer, host: "tendon.example", origin: "https://tendon.example" };
    expect((await askAll(site.url, { path: "/api/v1/devices", headers })).status).toBe(200);
  });

  it("of a probe needs neither a known Host nor a token; metrics need a known Host", async () => {
    const site = await openSite();
    const headers = { host: "probe.internal" };
    for (const path of ["/healthz", "/readyz"])
      expect((await askAll(site.url, { path, headers })).status).toBe(200);
    expect((await askAll(site.url, { path: "/metrics", headers })).status).toBe(403);
    expect((await askAll(site.url, { path: "/metrics" })).status).toBe(200);
  });

  it.each([
    ["broken JSON", "{broken", 400, "bad_request"],
    ["a list", "[]", 400, "bad_request"],
    ["arguments that are a list", '{"arguments":[]}', 400, "bad_request"],
    ["a prototype", '{"__proto__":{"x":1}}', 400, "bad_request"],
    ["no time", '{"timeoutMs":0}', 400, "bad_request"],
    ["half a millisecond", '{"timeoutMs":0.5}', 400, "bad_request"],
    ["more than five minutes", '{"timeoutMs":300001}', 400, "bad_request"],
    ["time as text", '{"timeoutMs":"100"}', 400, "bad_request"],
    [
      "a body of 257 KiB",
      JSON.stringify({ arguments: { x: "x".repeat(257 * 1024) } }),
      413,
      "payload_too_large",
    ],
  ])("with %s is rejected", async (_, body, status, code) => {
    const site = await openSite();
    await site.join({ tools: [tool("a")] });
    const answer = await site.rest("POST", `/devices/${firstDevice}/tools/a/call`, body);
    expect([answer.status, answer.body["code"]]).toEqual([status, code]);
    expect(answer.headers["content-type"]).toContain("application/problem+json");
    expect(JSON.stringify(answer.body)).not.toMatch(/node_modules|FST_/);
  });

  it("with unknown keys is rejected with their names", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("a")] });
    const body = { arguments: {}, timeout: 5, args: {} };
    const answer = await site.rest("POST", `/devices/${firstDevice}/tools/a/call`, body);
    expect(answer.status).toBe(400);
    expect(answer.body["errors"]).toEqual([
      { path: "/timeout", message: "is not a known property" },
      { path: "/args", message: "is not a known property" },
    ]);
  });

  it("with a body of another content type is rejected", async () => {
    const site = await openSite();
    const headers = { "content-type": "text/xml" };
    const answer = await site.rest("POST", "/devices/provision", "<x/>", headers);
    expect([answer.status, answer.body["code"]]).toEqual([400, "bad_request"]);
  });

  it.each([
    ["GET", "/api/v1/nothing", 404],
    ["DELETE", "/api/v1/devices", 405],
    ["GET", "/nothing", 404],
    ["GET", "/api/v1/devices/%zz", 400],
    ["GET", `/api/v1/devices/${"x".repeat(600)}`, 400],
  ])("%s %.30s is answered with a problem document", async (method, path, status) => {
    const site = await openSite();
    const answer = await askAll(site.url, { method, path, headers: bearer });
    expect(answer.status).toBe(status);
    expect(answer.headers["content-type"]).toContain("application/problem+json");
    expect(answer.body).toMatchObject({ type: expect.stringMatching(/^urn:tendon:error:/), status });
  });

  it("[CALL-1] is checked in order: device, tool, arguments, presence", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a", { x: { type: "integer" } }, ["x"])] });
    device.cut();
    await until(async () => (await site.device(device.id))["online"] === false);
    const codes = [
      (await site.call("no-such-device", "nothing", { x: "bad" })).body["code"],
      (await site.call(device.id, "nothing", { x: "bad" })).body["code"],
      (await site.call(device.id, "a", { x: "bad" })).body["code"],
      (await site.call(device.id, "a", { x: 1 })).body["code"],
    ];
    expect(codes).toEqual(["device_unknown", "tool_unknown", "arguments_invalid", "device_offline"]);
  });
});

describe("a device in a path", () => {
  it.each([
    "02:ab:00:00:00:01",
    "02%3Aab%3A00%3A00%3A00%3A01",
    "02%3aAB%3a00%3a00%3a00%3a01",
    "02-AB-00-00-00-01",
    "02ab00000001",
    "02_ab_00_00_00_01",
    "desk-0001",
  ])("can be written as %s", async (reference) => {
    const site = await openSite();
    const device = await site.join({ deviceId: "02:ab:00:00:00:01", board: "desk", tools: [tool("a")] });
    expect((await site.device(reference))["id"]).toBe("02:ab:00:00:00:01");
    expect(await site.toolNames(reference)).toEqual(["a"]);
    const answer = site.call(reference, "a");
    device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
    expect((await answer).body["device"]).toBe("02:ab:00:00:00:01");
  });

  it("that is unknown is device_unknown everywhere", async () => {
    const site = await openSite();
    const rpc = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    for (const answer of [
      await site.rest("GET", "/devices/no-such-device"),
      await site.rest("GET", "/devices/no-such-device/tools"),
      await site.call("no-such-device", "a"),
      await site.rest("POST", "/devices/no-such-device/mcp", rpc),
    ]) {
      expect([answer.status, answer.body["code"]]).toEqual([404, "device_unknown"]);
    }
  });

  it("has a unique alias: the second of the same kind gets another", async () => {
    const site = await openSite();
    await site.join({ deviceId: "02:00:00:00:aa:01", board: "desk" });
    await site.join({ deviceId: "02:00:00:01:aa:01", board: "desk" });
    const { body } = await site.rest("GET", "/devices");
    const aliases = (body["devices"] as { alias: string }[]).map(({ alias }) => alias);
    expect(aliases).toEqual(["desk-aa01", "desk-aa01-2"]);
  });
});

describe("the list of devices", () => {
  it("is filtered and paged", async () => {
    const site = await openSite();
    for (let at = 1; at <= 5; at += 1) {
      const device = await site.join({ deviceId: `02:00:00:00:00:0${at}`, board: at > 3 ? "lamp" : "desk" });
      if (at === 2) device.cut();
    }
    await until(async () => (await site.device("02:00:00:00:00:02"))["online"] === false);
    const ends = async (query: string) => {
      const { status, body } = await site.rest("GET", `/devices${query}`);
      expect(status).toBe(200);
      return (body["devices"] as { id: string }[]).map(({ id }) => id.slice(-1)).join("");
    };
    expect(await ends("")).toBe("12345");
    expect(await ends("?online=true")).toBe("1345");
    expect(await ends("?online=false")).toBe("2");
    expect(await ends("?q=LAMP")).toBe("45");
    expect(await ends("?q=00:05")).toBe("5");
    expect(await ends("?q=nothing")).toBe("");
    const pagesOf = async (query: string) => {
      let cursor = "";
      const pages: string[] = [];
      for (let page = 0; page < 5; page += 1) {
        const { body } = await site.rest("GET", `/devices?limit=2${query}${cursor}`);
        pages.push((body["devices"] as { id: string }[]).map(({ id }) => id.slice(-1)).join(""));
        if (body["nextCursor"] === undefined) break;
        cursor = `&cursor=${encodeURIComponent(String(body["nextCursor"]))}`;
      }
      return pages;
    };
    expect(await pagesOf("")).toEqual(["12", "34", "5"]);
    for (const [end, alias] of ["", "e", "a", "d", "b", "c"].entries())
      if (end > 0) await site.rest("PATCH", `/devices/02:00:00:00:00:0${end}`, { alias });
    expect(await pagesOf("&sort=alias")).toEqual(["24", "53", "1"]);
    expect(await pagesOf("&sort=-alias")).toEqual(["13", "54", "2"]);
    // Online devices were seen last; devices without a value are last in both directions.
    expect(await pagesOf("&sort=-lastSeen")).toEqual(["13", "45", "2"]);
    expect(await pagesOf("&sort=lastSeen")).toEqual(["21", "34", "5"]);
    for (const sort of ["battery", "-battery"])
      expect(await pagesOf(`&sort=${sort}`)).toEqual(["12", "34", "5"]);
    expect(await pagesOf("&sort=alias&online=true")).toEqual(["45", "31"]);
  });

  it.each([
    "?limit=0",
    "?limit=1001",
    "?limit=x",
    "?online=maybe",
    "?sort=size",
    "?sort=alias&cursor=02:00:00:00:00:01",
    "?cursor=abc",
    "?cursor=02:00:00:00:00:01",
    "?cursor=WyJhIiwiYiJd",
  ])("refuses %s", async (query) => {
    const site = await openSite();
    const { status, body } = await site.rest("GET", `/devices${query}`);
    expect([status, body["code"]]).toEqual([400, "bad_request"]);
  });
});

describe("the description of the REST interface", () => {
  it("lists every route, and every answer of a device's route", async () => {
    const site = await openSite();
    const { status, body } = await askAll(site.url, { path: "/api/v1/openapi.json" });
    expect(status).toBe(200);
    expect(body["openapi"]).toMatch(/^3\./);
    const paths = body["paths"] as Record<string, Record<string, { summary?: string; responses?: object }>>;
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        "/api/v1/devices",
        "/api/v1/devices/{device}",
        "/api/v1/devices/{device}/tools",
        "/api/v1/devices/{device}/tools/{tool}/call",
        "/api/v1/devices/{device}/mcp",
        "/api/v1/devices/provision",
        "/api/v1/events",
      ]),
    );
    for (const operations of Object.values(paths)) {
      for (const operation of Object.values(operations)) {
        expect(operation.summary).toMatch(/\w/);
        expect(Object.keys(operation.responses ?? {})).toEqual(expect.arrayContaining(["4XX", "5XX"]));
      }
    }
  });

  it("has no broken reference", async () => {
    const site = await openSite();
    const { text, body } = await askAll(site.url, { path: "/api/v1/openapi.json" });
    const schemas = Object.keys((body["components"] as { schemas?: object }).schemas ?? {});
    const named = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    for (const name of named) expect(schemas).toContain(name);
    expect(text).not.toContain('"$id"');
  });

  it("is shown as a page that loads nothing from other hosts", async () => {
    const site = await openSite();
    const { status, headers, text } = await askAll(site.url, { path: "/docs" });
    expect(status).toBe(200);
    expect(headers["content-security-policy"]).toContain("script-src 'self'");
    expect(text).not.toMatch(/(src|href)="https?:/);
  });
});

describe("for operators", () => {
  it("health, readiness and metrics need no token on loopback", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("a")] });
    expect((await askAll(site.url, { path: "/healthz" })).body).toEqual({ status: "ok" });
    expect((await askAll(site.url, { path: "/readyz" })).body).toEqual({ status: "ready" });
    const metrics = await askAll(site.url, { path: "/metrics" });
    expect(metrics.headers["content-type"]).toContain("text/plain");
    expect(metrics.text).toContain("# TYPE tendon_calls_total counter");
    expect(await site.metric("tendon_devices_online")).toBe(1);
  });
});

describe("every answer of the interface", () => {
  it.each(["/devices", "/openapi.json", "/nothing", "/devices/unknown"])(
    "is kept by no cache and guessed by no browser: %s",
    async (at) => {
      const site = await openSite();
      const { headers } = await site.rest("GET", at);
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["cache-control"]).toMatch(/no-store|no-cache/);
    },
  );
});

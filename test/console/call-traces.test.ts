/** What the gateway keeps of recent calls, and the calls that have not ended, over REST. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { unusedName } from "../access/tokens.ts";
import { askAll, type Json } from "../http-client.ts";
import { until } from "../inbox.ts";
import { textContent, tool } from "../raw-device.ts";
import { adminToken, openSite, type Site } from "../site.ts";
import { desk, openConsoleSite, startBoard } from "./console-site.ts";

type Body = Record<string, Json>;

async function traceOf(site: Site, callId: unknown, headers?: Record<string, string>): Promise<Body> {
  const { status, body } = await site.rest("GET", `/calls/${String(callId)}`, undefined, headers);
  expect(status).toBe(200);
  return body;
}

async function as(site: Site, request: object): Promise<Record<string, string>> {
  const { body } = await site.rest("POST", "/tokens", { name: unusedName(site, "reader"), ...request });
  return { authorization: `Bearer ${String(body["token"])}` };
}

/** Calls a tool as an open console page does. */
async function signIn(site: Site): Promise<(path: string, mark: string, body: object) => Promise<Body>> {
  const page = { origin: site.url, "content-type": "application/json" };
  const send = (path: string, headers: Record<string, string>, body: object) =>
    askAll(site.url, {
      method: "POST",
      path: `/api/v1${path}`,
      headers: { ...page, ...headers },
      body: JSON.stringify(body),
    });
  const opened = await send("/session", { "x-tendon-console": "1" }, { secret: adminToken });
  const [cookie = ""] = (opened.headers["set-cookie"] ?? [])[0]?.split(";") ?? [];
  return async (path, mark, body) => (await send(path, { cookie, "x-tendon-console": mark }, body)).body;
}

async function running(site: Site): Promise<Body[]> {
  return (await site.rest("GET", "/calls/running")).body["calls"] as unknown as Body[];
}

describe("the answer of a call", () => {
  it("[CON-8] is kept with secrets masked, in the trace and in short in the list", async () => {
    const site = await openSite();
    const device = await site.join({
      tools: [tool("join", { ssid: { type: "string" }, psk: { type: "string" } })],
    });
    const call = site.call(device.id, "join", { ssid: "shed", psk: "hidden-1" });
    const { id } = await device.nextRequest("tools/call");
    device.reply(id, textContent(JSON.stringify({ joined: true, token: "hidden-2" })));
    const { callId } = (await call).body;
    const trace = await traceOf(site, callId);
    expect(trace).toMatchObject({
      state: "finished",
      answer: {
        content: [{ type: "text", text: '{"joined":true,"token":"•••"}' }],
        structuredContent: { joined: true, token: "•••" },
        isError: false,
        cut: false,
      },
      origin: { via: "rest", address: expect.stringContaining("127.0.0.1") },
    });
    const { calls } = (await site.rest("GET", "/calls?preview=true")).body as unknown as {
      calls: Body[];
    };
    expect(calls[0]?.["preview"]).toEqual({
      arguments: 'ssid: "shed", psk: "•••"',
      answer: '{"joined":true,"token":"•••"}',
    });
    expect(JSON.stringify([trace, calls])).not.toContain("hidden");
    const reader = await as(site, { scopes: ["read"] });
    expect((await traceOf(site, callId, reader))["origin"]).not.toHaveProperty("address");
  });

  it("[CON-8] is cut if it is long, and dropped if newer answers take its place", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("read")] });
    const read = async () => {
      const call = site.call(device.id, "read");
      const content = ["x".repeat(40_000), "the end"].map((text) => ({ type: "text", text }));
      device.reply((await device.nextRequest("tools/call")).id, { content, isError: false });
      return (await call).body["callId"];
    };
    const first = await read();
    const { answer } = (await traceOf(site, first)) as {
      answer: { content: { text: string }[]; cut: boolean };
    };
    expect(answer.content.map(({ text }) => text.length)).toEqual([16_384, 0]);
    expect(answer.cut).toBe(true);
    for (let count = 0; count < 256; count += 1) await read();
    expect(await traceOf(site, first)).toMatchObject({ outcome: "ok", answer: null });
  });

  it("[CON-8] of a user-only tool needs the scope call:user", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")], userTools: [tool("self.get_system_info")] });
    const call = site.call(device.id, "self.get_system_info");
    device.reply((await device.nextRequest("tools/call")).id, textContent("chip"));
    const { callId } = (await call).body;
    expect(await traceOf(site, callId)).toMatchObject({ answer: { content: [{ text: "chip" }] } });
    const reader = await as(site, { scopes: ["read"] });
    expect(await traceOf(site, callId, reader)).toMatchObject({ outcome: "ok", answer: null });
    const list = await site.rest("GET", "/calls?preview=true", undefined, reader);
    expect(JSON.stringify(list.body)).not.toContain("chip");
  });

  it("[CON-8] does not contain the photo, which has an address of its own", async () => {
    const site = await openConsoleSite();
    await startBoard(site, desk, "desk");
    const { body } = await site.call(desk, "self.camera.take_photo", { question: "what?" });
    const trace = await traceOf(site, body["callId"]);
    const { content } = trace["answer"] as unknown as { content: Body[] };
    expect(content.find(({ type }) => type === "image")).not.toHaveProperty("data");
    expect(trace["picture"]).toBe(true);
    const picture = await site.rest("GET", `/calls/${String(body["callId"])}/picture`);
    expect(picture.status).toBe(200);
    expect(picture.headers["content-type"]).toBe("image/jpeg");
    const other = await site.call(desk, "self.get_device_status");
    const none = await site.rest("GET", `/calls/${String(other.body["callId"])}/picture`);
    expect(none.body["code"]).toBe("not_found");
  });
});

describe("the origin of a call", () => {
  it("names the program of an MCP client, and the browser of the console", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("beep")] });
    const client = new Client({ name: "claude", version: "1.2.3" });
    onTestFinished(() => client.close());
    const headers = { authorization: `Bearer ${adminToken}` };
    const address = new URL(`${site.url}/mcp/devices/${device.id}`);
    await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers } }));
    const called = client.callTool({ name: "beep", arguments: {} });
    device.reply((await device.nextRequest("tools/call")).id, textContent("true"));
    await called;
    const { calls } = (await site.rest("GET", "/calls")).body as unknown as { calls: Body[] };
    const trace = await traceOf(site, calls[0]?.["callId"]);
    expect(trace["origin"]).toEqual({ via: "mcp", client: "claude 1.2.3" });
    const page = await signIn(site);
    const done = page(`/devices/${device.id}/tools/beep/call`, "request-1", {});
    device.reply((await device.nextRequest("tools/call")).id, textContent("true"));
    expect((await traceOf(site, (await done)["callId"]))["origin"]).toMatchObject({
      via: "console",
      request: "request-1",
    });
  });
});

describe("a call that was not sent", () => {
  it("names each rejected value", async () => {
    const site = await openSite();
    const volume = { type: "integer", minimum: 0, maximum: 100 };
    const device = await site.join({ tools: [tool("set", { volume }, ["volume"])] });
    const { body } = await site.call(device.id, "set", { volume: 400 });
    expect(await traceOf(site, body["callId"])).toMatchObject({
      outcome: "arguments_invalid",
      sentAt: null,
      allowedAt: null,
      arguments: { volume: 400 },
      problems: [{ path: "/volume", message: expect.any(String) }],
    });
  });
});

describe("the frames of a call", () => {
  it("[CON-6] are its own request and reply, and nothing that came in between", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const send = async (answer: string) => {
      const call = site.call(device.id, "a");
      const { id } = await device.nextRequest("tools/call");
      device.notify("notifications/between", {});
      device.reply(id, textContent(answer));
      return String((await call).body["callId"]);
    };
    const first = await send("one");
    await send("two");
    const { body } = await site.rest("GET", `/devices/${device.id}/frames?call=${first}`);
    const frames = body["frames"] as unknown as { way: string; text: string; callId: string }[];
    expect(frames.map(({ way, callId }) => [way, callId])).toEqual([
      ["out", first],
      ["in", first],
    ]);
    expect(frames[1]?.text).toContain("one");
  });
});

describe("running calls", () => {
  it("are listed with their phase, have a trace, and end when their client disconnects", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("slow", { n: { type: "integer" } })] });
    const at = `/devices/${device.id}/tools/slow/call`;
    const clients = [1, 2].map(() => new AbortController());
    const calls = clients.map(({ signal }, n) =>
      site.rest("POST", at, { arguments: { n } }, {}, signal).catch((error: unknown) => error),
    );
    await device.nextRequest("tools/call");
    await until(async () => (await running(site)).length === 2, "two running calls");
    const [first, second] = await running(site);
    expect(first).toMatchObject({ device: device.id, tool: "slow", state: "running", phase: "device" });
    expect(second).toMatchObject({
      phase: "queue",
      preview: { arguments: expect.stringMatching(/^n: [01]$/) },
    });
    expect(await traceOf(site, first?.["callId"])).toMatchObject({
      state: "running",
      phase: "device",
      outcome: null,
      at: null,
    });
    const limited = await as(site, { scopes: ["read"], devices: { ids: ["02:00:00:00:00:99"] } });
    expect((await site.rest("GET", "/calls/running", undefined, limited)).body["calls"]).toEqual([]);
    for (const client of clients) client.abort();
    await Promise.all(calls);
    await until(async () => (await running(site)).length === 0, "no running calls");
    expect(await traceOf(site, first?.["callId"])).toMatchObject({ state: "finished", outcome: "cancelled" });
  });
});

describe("status reads of an open console page", () => {
  it("[CON-7] have a principal of their own, which a reader can leave out", async () => {
    const site = await openSite();
    const status = tool("self.get_device_status");
    const device = await site.join({ tools: [status, tool("self.audio_speaker.set_volume")] });
    const page = await signIn(site);
    const call = async (name: string, mark: string) => {
      const done = page(`/devices/${device.id}/tools/${name}/call`, mark, {});
      device.reply((await device.nextRequest("tools/call")).id, textContent("true"));
      return await done;
    };
    await call("self.get_device_status", "automatic");
    await call("self.get_device_status", "by-hand");
    // A call that may change something has the name of its caller, whatever the page claims.
    await call("self.audio_speaker.set_volume", "automatic");
    const principals = async (query: string) => {
      const { calls } = (await site.rest("GET", `/calls${query}`)).body as unknown as { calls: Body[] };
      return calls.map(({ principal }) => principal);
    };
    expect(await principals("")).toEqual(["admin", "admin", "console:admin"]);
    expect(await principals("?automatic=false")).toEqual(["admin", "admin"]);
    expect(await principals(`?automatic=false&device=${device.id}`)).toEqual(["admin", "admin"]);
    expect(await principals("?principal=console:admin")).toEqual(["console:admin"]);
    expect((await site.rest("GET", "/overview?range=15m")).body).toMatchObject({ calls: 2 });
    const taken = await site.rest("POST", "/tokens", { name: "console:admin", scopes: ["read"] });
    expect(taken.status).toBe(400);
  });
});

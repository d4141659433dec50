/** The typed client, against a real gateway. */
import {
  type CallSettings,
  type HttpSettings,
  isQueued,
  NotAGatewayError,
  type QueueSettings,
  TendonApiError,
  TendonClient,
} from "@tendon/client";
import { describe, expect, it } from "vitest";
import { makeToken } from "./access/tokens.ts";
import { ask } from "./http-client.ts";
import { openServer } from "./http-devices/servers.ts";
import { until } from "./inbox.ts";
import { type RawDevice, textContent, tool } from "./raw-device.ts";
import { RestartingGateway } from "./restarting-gateway.ts";
import { adminToken, firstDevice, openSite, type Site } from "./site.ts";

function clientOf(site: Pick<Site, "url">, token = adminToken, fetch?: HttpSettings["fetch"]): TendonClient {
  return new TendonClient({ url: `${site.url}/`, token, fetch });
}

async function answer(device: RawDevice, text = "ok"): Promise<void> {
  device.reply((await device.nextRequest("tools/call")).id, textContent(text));
}

describe("the client", () => {
  it("lists, reads, changes and deletes devices", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("a")], userTools: [tool("u")] });
    const { devices } = clientOf(site);
    expect((await devices.list({ online: true })).devices.map(({ id }) => id)).toEqual([firstDevice]);
    expect(await devices.change(firstDevice, { alias: "desk", tags: ["lab"] })).toMatchObject({
      alias: "desk",
    });
    expect(await devices.get("desk")).toMatchObject({ id: firstDevice, tags: ["lab"] });
    expect((await devices.tools("desk", { user: true })).tools.map(({ name }) => name)).toEqual(["a", "u"]);
    expect(await devices.delete("desk", { history: true })).toBeUndefined();
    await expect(devices.get("desk")).rejects.toMatchObject({ code: "device_unknown", status: 404 });
  });

  it("adds and deletes an MCP server over HTTP, and lists the endpoints of voice agents", async () => {
    const server = await openServer({ token: "a-secret" });
    const site = await openSite({ config: { endpoint: { enabled: true } } });
    const { devices, endpoints } = clientOf(site);
    const headers = { Authorization: "Bearer a-secret" };
    const added = await devices.addHttp({ alias: "lamp", url: server.url, headers });
    expect(added).toMatchObject({ kind: "http", server: { configured: false } });
    await until(async () => (await devices.get("lamp")).online, "the server online");
    expect(JSON.stringify(await devices.get("lamp"))).not.toContain("a-secret");
    await expect(devices.addHttp({ alias: "lamp", url: server.url })).rejects.toMatchObject({
      code: "conflict",
    });
    await devices.delete("lamp");
    expect((await devices.list()).devices).toEqual([]);
    expect(await endpoints.list()).toEqual({
      endpoints: [],
      incoming: { enabled: true, callers: [], providers: [] },
    });
  });

  it("lists imported devices, and removes one", async () => {
    const site = await openSite();
    const client = clientOf(site);
    await client.request("POST", "/devices/import", { body: { devices: [{ id: firstDevice }] } });
    const { imports, total } = await client.imports.list({ connected: false });
    expect([imports.map(({ id }) => id), total]).toEqual([[firstDevice], 1]);
    expect(await client.imports.delete(firstDevice)).toBeUndefined();
    expect(await client.imports.list()).toEqual({ imports: [], total: 0 });
  });

  it("calls tools, once per key, and reads the calls", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a", { x: { type: "integer" } }, ["x"])] });
    const client = clientOf(site);
    const once: CallSettings = { idempotencyKey: "k" };
    const calling = client.call(firstDevice, "a", { x: 1 }, once);
    await answer(device, "done");
    const reply = await calling;
    expect(reply.result.content).toEqual([{ type: "text", text: "done" }]);
    expect(await client.call(firstDevice, "a", { x: 1 }, once)).toEqual(reply);
    expect((await client.calls.list({ outcome: "ok" })).calls.map(({ callId }) => callId)).toEqual([
      reply.callId,
    ]);
    expect(await client.calls.get(reply.callId)).toMatchObject({ tool: "a", arguments: { x: 1 } });
  });

  it("queues a call for a device that is offline, lists it and cancels it", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const client = clientOf(site);
    const queue: QueueSettings = { whenOffline: "queue", expiresInMs: 60_000, supersedeKey: "k" };
    const live = client.call(firstDevice, "a", {}, queue);
    await answer(device);
    expect(isQueued(await live)).toBe(false);
    device.close();
    await until(async () => !(await client.devices.get(firstDevice)).online, "the device is offline");
    await expect(client.call(firstDevice, "a")).rejects.toMatchObject({ code: "device_offline" });
    const reply = await client.call(firstDevice, "a", {}, queue);
    if (!isQueued(reply)) throw new TypeError("the call was not queued");
    const { callId, expiresAt } = reply;
    expect((await client.calls.queued({ device: firstDevice })).calls).toMatchObject([
      { callId, expiresAt, supersedeKey: "k" },
    ]);
    expect(await client.calls.cancel(callId)).toMatchObject({ state: "finished", outcome: "cancelled" });
    await expect(client.calls.cancel(callId)).rejects.toMatchObject({ code: "conflict" });
    expect((await client.calls.queued()).calls).toEqual([]);
    const many = await client.callMany({ all: true }, "a", {}, queue);
    expect(many).toEqual({ job: expect.any(String) });
  });

  it("reports an error with its code, and whether a retry can help", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a", { x: { type: "integer" } }, ["x"])] });
    const client = clientOf(site);
    const wrong = await client.call(firstDevice, "a", {}).catch((error: unknown) => error);
    expect(wrong).toBeInstanceOf(TendonApiError);
    expect(wrong).toMatchObject({ code: "arguments_invalid", status: 422, retryable: false });
    const late = client.call(firstDevice, "a", { x: 1 }, { timeoutMs: 20 });
    await expect(late).rejects.toMatchObject({ code: "device_timeout", problem: { phase: "device" } });
    const stop = new AbortController();
    const cancelled = client.call(firstDevice, "a", { x: 2 }, { signal: stop.signal });
    await device.nextRequest("tools/call");
    stop.abort();
    await expect(cancelled).rejects.toMatchObject({ name: "AbortError" });
    await expect(clientOf(site, "wrong").devices.list()).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("says when the answer is not from a gateway, and follows no redirect", async () => {
    const from = (response: () => Response) =>
      clientOf({ url: "http://other" }, adminToken, async () => response());
    const redirected = from(() => new Response(null, { status: 302, headers: { location: "http://evil/" } }));
    const error = await redirected.devices.list().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(NotAGatewayError);
    expect(error).toMatchObject({ status: 302, location: "http://evil/" });
    const page = from(() => new Response("<html>", { status: 200 }));
    await expect(page.devices.list()).rejects.toBeInstanceOf(NotAGatewayError);
  });

  it("calls many devices, and decides about approvals", async () => {
    const rules = [{ tool: "a", effect: "confirm" as const }];
    const site = await openSite({ config: { access: { rules } } });
    const device = await site.join({ tools: [tool("a")] });
    const client = clientOf(site);
    const { token } = await makeToken(site, { name: "agent" });
    const agent = clientOf(site, token);
    const refused = await agent.call(firstDevice, "a").catch((error: unknown) => error as TendonApiError);
    expect(refused).toMatchObject({ code: "approval_required", retryable: true });
    const [waiting] = (await client.approvals.list({ state: "waiting" })).approvals;
    expect(await client.approvals.approve(waiting?.id ?? "")).toMatchObject({ state: "approved" });
    // An approval of one call does not cover a call to many devices.
    expect(await agent.callMany({ devices: [firstDevice] }, "a")).toMatchObject({ failed: 1 });
    const calling = agent.call(firstDevice, "a");
    await answer(device);
    expect((await calling).result.isError).toBe(false);
    expect((await client.audit.list({ action: "approval.approve" })).entries).toHaveLength(1);
  });

  it("waits for a job", async () => {
    const site = await openSite();
    let left = 2;
    const job = { id: "j", total: 1, results: [], ok: 0, failed: 0 };
    const client = clientOf(site, adminToken, async () => {
      left -= 1;
      return Response.json({ ...job, state: left > 0 ? "running" : "done" });
    });
    expect(await client.jobs.wait("j")).toMatchObject({ state: "done" });
    const stop = new AbortController();
    left = 1_000;
    const waiting = client.jobs.wait("j", { signal: stop.signal });
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
  });

  it("has only methods that the OpenAPI description has", async () => {
    const site = await openSite();
    const { body } = await site.rest("GET", "/openapi.json");
    const paths = body["paths"] as Record<string, Record<string, unknown>>;
    const known = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{[^}]+\}/g, "{}")}`),
    );
    const asked: string[] = [];
    const client = clientOf(site, adminToken, async (url, { method }) => {
      asked.push(`${method} ${decodeURIComponent(new URL(url).pathname).replaceAll("VALUE", "{}")}`);
      return Response.json({ state: "done" });
    });
    await client.call("VALUE", "VALUE");
    await client.callMany({ all: true }, "a");
    const groups = [
      client.devices,
      client.imports,
      client.calls,
      client.approvals,
      client.jobs,
      client.audit,
      client.endpoints,
      client.webhooks,
    ];
    for (const group of groups) {
      for (const [name, method] of Object.entries(group)) {
        const call = method as (...args: unknown[]) => Promise<unknown>;
        await (name === "list" || name === "queued" ? call({}) : call("VALUE", {}));
      }
    }
    expect(asked).toHaveLength(31);
    expect(
      asked.filter((request) => !known.includes(request.replace("/api/v1", "")) && !known.includes(request)),
    ).toEqual([]);
  });
});

describe("its events", () => {
  it("continue after a restart of the gateway, each exactly once", async () => {
    const gateway = await RestartingGateway.start();
    const stop = new AbortController();
    const seen: unknown[] = [];
    const states: string[] = [];
    const client = clientOf({ url: "http://gateway" }, "an-admin-token-for-restarts", (url, init) =>
      fetch(url.replace("http://gateway", gateway.url), init),
    );
    const reading = (async () => {
      const events = client.events({
        types: ["device.notification"],
        signal: stop.signal,
        onOpen: () => states.push("open"),
        onLost: () => states.push("lost"),
      });
      for await (const event of events) seen.push(event.data["method"]);
    })();
    await until(() => states.length === 1, "the stream");
    const device = await gateway.join(firstDevice, {});
    device.notify("first");
    await until(() => seen.length === 1, "the first event");
    await gateway.restart();
    const again = await gateway.join(firstDevice, {});
    again.notify("second");
    await until(() => seen.length === 2, "the second event");
    expect(seen).toEqual(["first", "second"]);
    expect(states.filter((state) => state === "open").length).toBeGreaterThan(1);
    stop.abort();
    await reading;
  });

  it("resume after an event, and end with their token", async () => {
    const site = await openSite();
    const device = await site.join();
    const { id, token } = await makeToken(site, { scopes: ["read"] });
    const client = clientOf(site, token);
    const stop = new AbortController();
    const first = client.events({
      types: ["device.notification"],
      signal: stop.signal,
      onOpen: () => device.notify("one"),
    });
    const { value } = await first.next();
    device.notify("two");
    stop.abort();
    await first.return(undefined);
    const resumed = client.events({
      types: ["device.notification"],
      after: String((value as { id: string }).id),
    });
    expect((await resumed.next()).value).toMatchObject({ data: { method: "two" } });
    await site.rest("DELETE", `/tokens/${id}`);
    await expect(resumed.next()).rejects.toMatchObject({ code: "unauthenticated" });
    expect((await ask(site.url, { path: "/healthz" })).statusCode).toBe(200);
  });
});

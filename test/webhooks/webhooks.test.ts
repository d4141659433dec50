import { describe, expect, it } from "vitest";
import { as, makeToken } from "../access/tokens.ts";
import { until } from "../inbox.ts";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import { firstDevice, openSite, type Site } from "../site.ts";
import { type Message, Receiver, verified } from "./receiver.ts";

const other = "02:00:00:00:00:02";

interface Made {
  readonly id: string;
  readonly secret: string;
}

async function siteFor(receiver: Receiver): Promise<Site> {
  return await openSite({ config: { webhooks: { allowHosts: [receiver.host] } } });
}

async function add(site: Site, request: Record<string, unknown>): Promise<Made> {
  const { status, body } = await site.rest("POST", "/webhooks", request);
  expect(status, JSON.stringify(body)).toBe(201);
  return body as unknown as Made;
}

function methods(messages: readonly Message[]): unknown[] {
  return messages.map(({ body }) => body.data["method"]);
}

async function called(site: Site, device: RawDevice): Promise<string> {
  const calling = site.call(device.id, "a");
  device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
  return String((await calling).body["callId"]);
}

describe("a webhook", () => {
  it("delivers events that the official library verifies, thin and with the device", async () => {
    const receiver = await Receiver.open();
    const site = await siteFor(receiver);
    const { id, secret } = await add(site, { url: receiver.url, types: ["call.finished", "device.*"] });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const device = await site.join({ tools: [tool("a")] });
    const callId = await called(site, device);
    await until(() => receiver.accepted.some(({ body }) => body.type === "call.finished"));
    const types = receiver.accepted.map(({ body }) => body.type);
    expect(types[0]).toBe("device.online");
    const finished = receiver.accepted.find(({ body }) => body.type === "call.finished") as Message;
    expect(verified(finished, secret)).toEqual(finished.body);
    expect(finished.body).toEqual({
      type: "call.finished",
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: expect.objectContaining({ device: firstDevice, callId, tool: "a", outcome: "ok" }),
    });
    expect(finished.headers).toMatchObject({
      "content-type": "application/json",
      "webhook-id": expect.stringMatching(/^msg_/),
      "webhook-timestamp": expect.stringMatching(/^\d{10}$/),
    });
    const { body } = await site.rest("GET", `/webhooks/${id}`);
    expect(body).toMatchObject({ id, state: "ok", enabled: true, types: ["call.finished", "device.*"] });
    expect(JSON.stringify(body)).not.toContain(secret);
    const { body: list } = await site.rest("GET", `/webhooks/${id}/deliveries`);
    expect((list["deliveries"] as object[]).at(-1)).toMatchObject({
      type: "device.online",
      device: firstDevice,
      state: "delivered",
      attempts: 1,
      status: 200,
    });
  });

  it("leaves out what its filter does not name", async () => {
    const receiver = await Receiver.open();
    const site = await siteFor(receiver);
    await site.join();
    await site.rest("PATCH", `/devices/${firstDevice}`, { alias: "desk" });
    const second = await site.join({ deviceId: other });
    await site.rest("PATCH", `/devices/${other}`, { tags: ["lab"] });
    const types = ["device.notification"];
    const { id } = await add(site, {
      url: receiver.url,
      types,
      devices: { ids: ["desk"] },
      name: "desk only",
    });
    const { id: tagged } = await add(site, { url: `${receiver.url}/tag`, types, devices: { tags: ["lab"] } });
    expect((await site.rest("GET", `/webhooks/${id}`)).body).toMatchObject({
      name: "desk only",
      devices: { ids: [firstDevice] },
    });
    second.notify("first");
    second.notify("second");
    expect(methods(await receiver.received(2))).toEqual(["first", "second"]);
    const found = await site.rest("GET", `/webhooks/${id}/deliveries`);
    expect(found.body["deliveries"]).toEqual([]);
    expect((await site.rest("GET", `/webhooks/${tagged}/deliveries?limit=1`)).body).toMatchObject({
      deliveries: [{ type: "device.notification" }],
      nextCursor: expect.any(String),
    });
  });

  it("keeps a message below 20 KB and names the fields that it left out", async () => {
    const receiver = await Receiver.open();
    const site = await siteFor(receiver);
    const { secret } = await add(site, { url: receiver.url, types: ["device.notification"] });
    const device = await site.join();
    device.notify("large", { text: "温".repeat(7_500) });
    const [message] = await receiver.received(1);
    expect(Buffer.byteLength(message?.text ?? "")).toBeLessThan(20 * 1024);
    expect(verified(message as Message, secret)).toMatchObject({
      data: { method: "large", device: firstDevice, truncated: ["params"] },
    });
  });

  it("signs with both secrets after a rotation", async () => {
    const receiver = await Receiver.open();
    const site = await siteFor(receiver);
    const { id, secret } = await add(site, { url: receiver.url, types: ["device.notification"] });
    const device = await site.join();
    const { status, body } = await site.rest("POST", `/webhooks/${id}/rotate`);
    expect(status).toBe(200);
    expect(body["oldSecretUntil"]).toEqual(expect.any(String));
    device.notify("after");
    const [message] = (await receiver.received(1)) as [Message];
    for (const each of [secret, String(body["secret"])])
      expect(verified(message, each)).toMatchObject({ type: "device.notification" });
    expect(() => verified(message, `whsec_${Buffer.alloc(32).toString("base64")}`)).toThrow(/signature/i);
  });

  it("is tested at once, and tells what the receiver answered", async () => {
    const receiver = await Receiver.open();
    const site = await siteFor(receiver);
    const { id, secret } = await add(site, { url: receiver.url });
    expect((await site.rest("POST", `/webhooks/${id}/test`)).body).toMatchObject({ ok: true, status: 200 });
    const sent = receiver.accepted.find(({ body }) => body.type === "webhook.test") as Message;
    expect(verified(sent, secret)).toMatchObject({ type: "webhook.test", data: { webhook: id } });
    receiver.answer(302, { location: "http://127.0.0.1:1/" });
    const { body } = await site.rest("POST", `/webhooks/${id}/test`);
    expect(body).toMatchObject({ ok: false, status: 302, error: "redirects are not followed" });
  });

  it("delivers events again from a time on, with the same id", async () => {
    const receiver = await Receiver.open();
    const site = await siteFor(receiver);
    const { id } = await add(site, { url: receiver.url, types: ["device.notification"] });
    const device = await site.join();
    for (const method of ["one", "two", "three"]) device.notify(method);
    const first = [...(await receiver.received(3))];
    const since = first[0]?.body.timestamp;
    const deliveredAll = async () =>
      (await site.rest("GET", `/webhooks/${id}`)).body["pending"] === 0 ? true : undefined;
    await until(deliveredAll);
    expect((await site.rest("POST", `/webhooks/${id}/replay`, { since })).body).toEqual({ replayed: 3 });
    const again = (await receiver.received(6)).slice(3);
    const idsOf = (messages: readonly Message[]) => messages.map(({ headers }) => headers["webhook-id"]);
    expect(methods(again)).toEqual(["one", "two", "three"]);
    expect(idsOf(again)).toEqual(idsOf(first));
    const future = await site.rest("POST", `/webhooks/${id}/replay`, { since: "2126-01-01T00:00:00Z" });
    expect(future).toMatchObject({ status: 400, body: { code: "bad_request" } });
  });

  it("resumes after a pause with the events in between, and ends when it is deleted", async () => {
    const receiver = await Receiver.open();
    const site = await siteFor(receiver);
    const { id } = await add(site, { url: receiver.url, types: ["device.notification"] });
    const device = await site.join();
    device.notify("one");
    await receiver.received(1);
    const { body } = await site.rest("PATCH", `/webhooks/${id}`, { enabled: false });
    expect(body).toMatchObject({ enabled: false, state: "disabled", disabledReason: "disabled by admin" });
    device.notify("two");
    const events = await site.events("?type=device.notification");
    device.notify("three");
    await events.next();
    expect(receiver.attempts).toHaveLength(1);
    await site.rest("PATCH", `/webhooks/${id}`, { enabled: true });
    expect(methods(await receiver.received(3))).toEqual(["one", "two", "three"]);
    expect((await site.rest("DELETE", `/webhooks/${id}`)).status).toBe(204);
    expect((await site.rest("GET", `/webhooks/${id}`)).status).toBe(404);
    const { body: audit } = await site.rest("GET", "/audit");
    const actions = (audit["entries"] as { action: string }[]).map(({ action }) => action);
    expect(actions.filter((action) => action.startsWith("webhook."))).toEqual([
      "webhook.delete",
      "webhook.change",
      "webhook.change",
      "webhook.create",
    ]);
  });

  it("forgets the events of a device that is deleted with its history", async () => {
    const receiver = await Receiver.open();
    const site = await siteFor(receiver);
    const { id } = await add(site, { url: receiver.url, types: ["device.notification"] });
    const device = await site.join();
    device.notify("private");
    await receiver.received(1);
    expect((await site.rest("DELETE", `/devices/${firstDevice}?history=true`)).status).toBe(204);
    expect((await site.rest("GET", `/webhooks/${id}/deliveries`)).body["deliveries"]).toEqual([]);
  });
});

describe("bad input for webhooks", () => {
  it.each([
    ["no address", { url: "hook" }, "/url"],
    ["another scheme", { url: "ftp://hooks.example/" }, "/url"],
    ["http to a host that is not listed", { url: "http://hooks.example/" }, "/url"],
    ["a private address", { url: "https://10.0.0.1/" }, "/url"],
    ["this machine", { url: "https://127.1:9/" }, "/url"],
    ["this machine over IPv6", { url: "https://[::ffff:127.0.0.1]/" }, "/url"],
    ["a name of this machine", { url: "https://localhost/" }, "/url"],
    ["the metadata address", { url: "https://169.254.169.254/latest" }, "/url"],
    ["credentials in the address", { url: "https://a:b@hooks.example/" }, "/url"],
    ["an address that is too long", { url: `https://hooks.example/${"x".repeat(2_048)}` }, "/url"],
    ["an unknown type", { url: "https://hooks.example/", types: ["device.explodes"] }, "/types/0"],
    ["a type that is no pattern", { url: "https://hooks.example/", types: ["*.online"] }, "/types/0"],
    ["no type", { url: "https://hooks.example/", types: [] }, "/types"],
    ["an unknown device", { url: "https://hooks.example/", devices: { ids: ["nobody"] } }, "/devices/ids/0"],
    ["an unknown field", { url: "https://hooks.example/", secret: "whsec_mine" }, "/secret"],
    ["no address at all", {}, "url"],
  ])("rejects %s", async (_what, request, where) => {
    const site = await openSite();
    const { status, body } = await site.rest("POST", "/webhooks", request);
    expect([status, body["code"]]).toEqual([400, "bad_request"]);
    expect(String(body["detail"])).toContain(where);
    expect((await site.rest("GET", "/webhooks")).body["webhooks"]).toEqual([]);
  });

  it("needs `admin` for all devices, and an id that exists", async () => {
    const site = await openSite();
    const { token } = await makeToken(site, { scopes: ["read", "call", "provision"] });
    const limited = await makeToken(site, { scopes: ["admin"], devices: { tags: ["lab"] } });
    for (const each of [token, limited.token])
      expect((await site.rest("GET", "/webhooks", undefined, as(each))).status).toBe(403);
    const none = "/webhooks/none";
    for (const [method, path] of [
      ["GET", none],
      ["DELETE", none],
      ["POST", `${none}/test`],
      ["POST", `${none}/rotate`],
      ["GET", `${none}/deliveries`],
    ] as const)
      expect(await site.rest(method, path)).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect((await site.rest("PATCH", none, { enabled: true })).status).toBe(404);
    expect((await site.rest("PATCH", none, {})).status).toBe(400);
    expect((await site.rest("POST", `${none}/replay`, { since: "yesterday" })).status).toBe(400);
  });
});

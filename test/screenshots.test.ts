/** Screenshots of boards, without an upload server of the caller's own. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { VirtualDevice, type VirtualDeviceOptions } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { jpeg } from "../packages/gateway/test/vision/pictures.ts";
import { as, makeToken } from "./access/tokens.ts";
import { run } from "./functions.ts";
import type { Answer } from "./http-client.ts";
import { openAgent } from "./mcp/agent.ts";
import { MqttApp } from "./mqtt-app.ts";
import { type Fields, type RawDevice, textContent, tool } from "./raw-device.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

const snapshot = "self.screen.snapshot";
const mac = "02:00:00:00:00:07";
const clientId = "77777777-7777-4777-8777-777777777777";
const maxBytes = 4 * 1024 * 1024;

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
  readonly mimeType?: string;
}

async function board(site: Site, over: "websocket" | "mqtt" = "websocket", id = mac): Promise<VirtualDevice> {
  const { websocket, mqtt } = site.tendon.provision(id, clientId);
  const way: VirtualDeviceOptions =
    over === "mqtt"
      ? { mqtt: { ...mqtt, endpoint: new URL(site.tendon.addresses.mqtt).host } }
      : { url: `${site.url.replace("http", "ws")}/xiaozhi/v1/`, token: websocket.token };
  const device = new VirtualDevice({ board: { mac: id, clientId, name: "screen-board" }, ...way });
  onTestFinished(() => device.stop());
  await device.connect();
  await site.listed(id);
  return device;
}

function contentOf({ status, body }: Answer): readonly Part[] {
  expect([status, body["detail"]]).toEqual([200, undefined]);
  return (body["result"] as unknown as { content: Part[] }).content;
}

function bytesOf(part: Part | undefined): Buffer {
  expect(part).toMatchObject({ type: "image", mimeType: "image/jpeg" });
  return Buffer.from(part?.data ?? "", "base64");
}

const isJpeg = (bytes: Buffer) => bytes.subarray(0, 3).toString("hex") === "ffd8ff";

describe.each(["websocket", "mqtt"] as const)("a screenshot over %s", (over) => {
  it("[CAM-4] is returned as an image, in the requested quality", async () => {
    const site = await openSite();
    const device = await board(site, over);
    const [said, picture, ...more] = contentOf(await site.call(mac, snapshot));
    expect([said, more]).toEqual([{ type: "text", text: "true" }, []]);
    expect(isJpeg(bytesOf(picture))).toBe(true);
    device.state.set("volume", 3);
    const [, small] = contentOf(await site.call(mac, snapshot, { quality: 1 }));
    expect(bytesOf(small).length).toBeLessThan(bytesOf(picture).length);
    expect(await site.metric('tendon_photos_total{outcome="ok"}')).toBe(2);
  });
});

describe("a screenshot", () => {
  it("[CAM-4] leaves no copy, no address in the history, and no ticket in the frames", async () => {
    const site = await openSite({ config: { calls: { keepArguments: true } } });
    const device = await board(site);
    await site.call(mac, snapshot, { quality: 30 });
    const { body } = await site.rest("GET", `/calls?tool=${snapshot}`);
    expect(body["calls"]).toMatchObject([{ outcome: "ok", arguments: { quality: 30 } }]);
    const agent = await openAgent(site, "modern", { at: `/mcp/devices/${device.id}` });
    const { resources } = await agent.listResources();
    expect(resources.filter(({ uri }) => uri.includes("/photos/"))).toEqual([]);
    const frames = JSON.stringify((await site.rest("GET", `/devices/${mac}/frames`)).body);
    expect(frames).toContain("/vision/snapshot/•••");
    expect(frames).not.toMatch(/\/vision\/snapshot\/[\w-]/);
  });

  it("[CAM-4] of several boards at once goes to its own call", async () => {
    const site = await openSite();
    const other = "02:00:00:00:00:08";
    const [one, two] = [await board(site), await board(site, "mqtt", other)];
    one.state.set("volume", 0);
    two.state.set("volume", 100);
    const { body } = await site.rest("POST", "/calls", {
      target: { devices: [mac, other, mac] },
      tool: snapshot,
      arguments: {},
    });
    const results = body["results"] as unknown as { device: string; result: { content: Part[] } }[];
    const pictures = new Map(results.map(({ device, result }) => [device, result.content[1]?.data]));
    expect([...pictures.keys()].sort()).toEqual([mac, other]);
    const alone = contentOf(await site.call(mac, snapshot));
    expect(alone[1]?.data).toBe(pictures.get(mac));
    expect(pictures.get(mac)).not.toBe(pictures.get(other));
  });

  it("[CAM-4] goes to an address of the caller's own, if `access.urlHosts` allows it", async () => {
    const uploads: string[] = [];
    const server = http.createServer((request, response) => {
      uploads.push(request.url ?? "");
      request.resume();
      request.on("end", () => response.end("OK"));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mine`;
    const strict = await openSite();
    await board(strict);
    expect(await strict.call(mac, snapshot, { url })).toMatchObject({
      status: 403,
      body: { code: "forbidden" },
    });
    const site = await openSite({ config: { access: { urlHosts: ["127.0.0.1"] } } });
    await board(site);
    for (const args of [{ url }, { URL: url }])
      expect(contentOf(await site.call(mac, snapshot, args))).toEqual([{ type: "text", text: "true" }]);
    expect(uploads).toEqual(["/mine", "/mine"]);
    for (const bad of ["", "no address", 5])
      expect(await site.call(mac, snapshot, { url: bad })).toMatchObject({
        status: 422,
        body: { code: "arguments_invalid" },
      });
  });

  it("[CAM-4] is offered with an optional address, while the device's own definition counts for changes", async () => {
    const site = await openSite();
    await board(site);
    const { body } = await site.rest("GET", `/devices/${mac}/tools?user=true`);
    const listed = (body["tools"] as unknown as { name: string; inputSchema: Fields }[]).find(
      ({ name }) => name === snapshot,
    );
    expect(listed?.inputSchema).toMatchObject({
      properties: { url: { type: "string", description: expect.stringContaining("gateway receives it") } },
    });
    expect(listed?.inputSchema["required"] ?? []).toEqual([]);
    expect((await site.rest("GET", `/devices/${mac}/changes`)).body).toEqual({ changes: [] });
    // The address of another tool stays required.
    expect((await site.call(mac, "self.screen.preview_image")).status).toBe(422);
  });

  it("[CAM-4] [AGT-5] works over MCP and functions for a token with `call:user`, and for no other", async () => {
    const site = await openSite();
    await board(site);
    const { alias } = await site.device(mac);
    const name = `${String(alias)}__screen_snapshot`;
    const { token: user } = await makeToken(site, { scopes: ["read", "call", "call:user"] });
    const agent = await openAgent(site, "modern", { token: user });
    const { tools } = await agent.listTools();
    expect(tools.find((each) => each.name === name)?.inputSchema.required ?? []).toEqual([]);
    const result = await agent.callTool({ name, arguments: {} });
    expect(result.content).toMatchObject([
      { type: "text", text: "true" },
      { type: "image", mimeType: "image/jpeg" },
    ]);
    const { body } = await run(site, name, { quality: 20 }, user);
    expect(body["result"]).toMatchObject({ content: [{ type: "text" }, { type: "image" }] });
    const { token: guest } = await makeToken(site, { name: "guest", scopes: ["read", "call"] });
    const at = `/devices/${mac}/tools/${snapshot}/call`;
    expect(await site.rest("POST", at, { arguments: {} }, as(guest))).toMatchObject({
      status: 403,
      body: { code: "forbidden", scope: "call:user" },
    });
    const other = await openAgent(site, "modern", { token: guest });
    expect((await other.listTools()).tools.map((each) => each.name)).not.toContain(name);
  });

  it("[CAM-4] [APP-3] is in the reply over MQTT", async () => {
    const site = await openSite();
    await board(site);
    const app = await MqttApp.open(site);
    const topic = `tendon/devices/${mac}/call`;
    await app.wire.subscribe(`${topic}/reply`);
    app.publish(topic, { request_id: "1", tool: snapshot, arguments: {} });
    expect(await app.next(`${topic}/reply`)).toMatchObject({
      ok: true,
      result: { content: [{ type: "text" }, { type: "image", mimeType: "image/jpeg" }] },
    });
  });
});

describe("a device that cannot reach the gateway", () => {
  const refusal = { status: 422, body: { code: "arguments_invalid", errors: [{ path: "/url" }] } };

  it("[CAM-4] gets no address that it cannot read", async () => {
    const site = await openSite({ config: { http: { publicUrl: "http://[::1]:8000" } } });
    await board(site);
    const { body, ...rest } = await site.call(mac, snapshot);
    expect({ body, ...rest }).toMatchObject(refusal);
    expect(body["detail"]).toContain("IPv6");
  });

  it("[CAM-4] gets no loopback address over a broker that other machines reach", async () => {
    const site = await openSite({ config: { mqtt: { publicEndpoint: "mqtt.example:1883" } } });
    await board(site, "mqtt");
    const { body, ...rest } = await site.call(mac, snapshot);
    expect({ body, ...rest }).toMatchObject(refusal);
    expect(body["detail"]).toContain("Set `http.publicUrl`, or pass an address.");
  });

  it("[CAM-4] fails with the setting to change, without the ticket", async () => {
    const site = await openSite({ config: { http: { publicUrl: "http://127.0.0.1:9" } } });
    await board(site);
    const { status, body } = await site.call(mac, snapshot);
    expect([status, body["code"], body["detail"]]).toEqual([
      502,
      "device_error",
      "Failed to open URL: http://127.0.0.1:9. Set `http.publicUrl` to an address of the gateway that the device can reach",
    ]);
  });
});

describe("an upload", () => {
  const stock = tool(
    snapshot,
    { url: { type: "string" }, quality: { type: "integer", default: 80, minimum: 1, maximum: 100 } },
    ["url"],
  );

  async function ask(site: Site, device: RawDevice, more: Fields = {}) {
    const running = site.call(device.id, snapshot, {}, more);
    const { id, params } = await device.nextRequest("tools/call");
    const { url } = params["arguments"] as { url: string };
    return { running, id, url };
  }

  async function upload(url: string, picture: Buffer | undefined): Promise<{ status: number; text: string }> {
    const form = new FormData();
    if (picture !== undefined) form.append("file", new Blob([new Uint8Array(picture)]), "screenshot.jpg");
    const answer = await fetch(url, { method: "POST", body: picture === undefined ? "nothing" : form });
    return { status: answer.status, text: await answer.text() };
  }

  const failed = (message: string) => ({ status: 200, text: JSON.stringify({ success: false, message }) });

  it("[CAM-4] counts once; a second one changes nothing", async () => {
    const site = await openSite();
    const device = await site.join({ userTools: [stock] });
    const { running, id, url } = await ask(site, device);
    expect(new URL(url).pathname).toMatch(/^\/vision\/snapshot\/[\w-]{32}$/);
    expect((await upload(url, jpeg(300))).text).toContain('"success":true');
    expect(await upload(url, jpeg(400))).toEqual(
      failed("A picture was already sent for this call. This one was discarded."),
    );
    device.reply(id, textContent("true"));
    expect(bytesOf(contentOf(await running)[1])).toEqual(jpeg(300));
    expect(await upload(url, jpeg(500))).toEqual(
      failed("The call that requested this picture has ended. The picture was discarded."),
    );
  });

  it.each<[string, Buffer | undefined, string]>([
    [
      "that is no picture",
      Buffer.from("<html></html>"),
      "The uploaded file is neither a JPEG nor a PNG picture.",
    ],
    ["that is too large", jpeg(maxBytes + 1), "The picture is larger than 4 MiB."],
    ["that is no form", undefined, "The upload is not a multipart form with a picture."],
  ])("[CAM-4] %s fails the call with the reason", async (_name, picture, message) => {
    const site = await openSite();
    const device = await site.join({ userTools: [stock] });
    const { running, id, url } = await ask(site, device);
    expect(await upload(url, picture)).toEqual(failed(message));
    // The ticket is used up.
    expect((await upload(url, jpeg())).text).toContain("already sent");
    device.reply(id, textContent("true"));
    const { status, body } = await running;
    expect([status, body["result"]]).toEqual([
      200,
      { content: [{ type: "text", text: message }], isError: true },
    ]);
    expect((await site.rest("GET", `/calls?tool=${snapshot}`)).body["calls"]).toMatchObject([
      { outcome: "tool_error" },
    ]);
  });

  it("[CAM-4] that never happens fails the call, although the device reports success", async () => {
    const site = await openSite();
    const device = await site.join({ userTools: [stock] });
    const { running, id } = await ask(site, device);
    device.reply(id, textContent("true"));
    expect((await running).body["result"]).toMatchObject({
      isError: true,
      content: [{ text: "The device reported success, but it uploaded no screenshot." }],
    });
  });

  it("[CAM-4] after the end of its call is discarded, and a later call has another ticket", async () => {
    const site = await openSite();
    const device = await site.join({ userTools: [stock] });
    const first = await ask(site, device, { timeoutMs: 1_000 });
    expect((await first.running).body["code"]).toBe("device_timeout");
    expect((await upload(first.url, jpeg())).text).toContain("has ended");
    const second = await ask(site, device);
    expect(second.url).not.toBe(first.url);
    expect((await upload(first.url, jpeg(700))).text).toContain("has ended");
    await upload(second.url, jpeg(800));
    device.reply(second.id, textContent("true"));
    expect(bytesOf(contentOf(await second.running)[1])).toEqual(jpeg(800));
  });

  it("[CAM-1] [CAM-4] needs a ticket of its own kind", async () => {
    const site = await openSite();
    const camera = tool("self.camera.take_photo");
    const device = await site.join({ tools: [camera], userTools: [stock] });
    const other = await site.join({
      deviceId: "02:00:00:00:00:02",
      clientId: "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a02",
      tools: [camera],
    });
    const { running, id, url } = await ask(site, device);
    const ticket = url.slice(url.lastIndexOf("/") + 1);
    const photo = site.call(other.id, camera.name);
    const initialize = await other.nextRequest("initialize");
    const { vision } = initialize.params["capabilities"] as { vision: { token: string } };
    other.reply(initialize.id, {});
    const taking = await other.nextRequest("tools/call");
    const at = `${site.url}/vision/snapshot/`;
    for (const wrong of ["x", `${ticket}x`, vision.token, "..%2f..%2fetc%2fpasswd", "x".repeat(5_000)])
      expect((await upload(`${at}${wrong}`, jpeg())).status, wrong).not.toBe(200);
    expect((await upload(`${at}${vision.token}`, jpeg())).status).toBe(401);
    const form = new FormData();
    form.append("file", new Blob([new Uint8Array(jpeg())]), "camera.jpg");
    const headers = { "device-id": firstDevice, authorization: `Bearer ${ticket}` };
    const answer = await fetch(`${site.url}/vision/explain`, { method: "POST", headers, body: form });
    expect(answer.status).toBe(401);
    // Neither ticket is used up.
    expect((await upload(url, jpeg())).text).toContain('"success":true');
    device.reply(id, textContent("true"));
    expect(contentOf(await running)).toHaveLength(2);
    other.reply(taking.id, textContent("{}"));
    expect((await photo).status).toBe(200);
  });

  it("[CAM-4] that fails on the device reports the device's error", async () => {
    const site = await openSite();
    const device = await site.join({ userTools: [stock] });
    const { running, id } = await ask(site, device);
    device.refuse(id, "Failed to snapshot screen");
    const { status, body } = await running;
    expect([status, body["code"], body["detail"]]).toEqual([
      502,
      "device_error",
      "Failed to snapshot screen",
    ]);
  });

  it("[CAM-4] is not offered for a tool of this name with another schema", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool(snapshot, { target: { type: "string" } }, ["target"])] });
    expect((await site.call(device.id, snapshot)).status).toBe(422);
    const running = site.call(device.id, snapshot, { target: "x" });
    const { id, params } = await device.nextRequest("tools/call");
    expect(params["arguments"]).toEqual({ target: "x" });
    device.reply(id, textContent("true"));
    expect(contentOf(await running)).toHaveLength(1);
  });
});

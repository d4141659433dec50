import { Writable } from "node:stream";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { askAll, asObject } from "./http-client.ts";
import { until } from "./inbox.ts";
import { RawDevice, textContent, tool } from "./raw-device.ts";
import { adminToken, firstDevice, openSite } from "./site.ts";
import { Refused, WebSocketWire } from "./websocket-wire.ts";

function memoryLog() {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString("utf8"));
      done();
    },
  });
  return { lines, logger: pino({ level: "trace" }, stream) };
}

describe("secrets", () => {
  it("are in no log, event, REST body or error, in success and failure", async () => {
    const { lines, logger } = memoryLog();
    const visionToken = "vision-secret-0001";
    const config = {
      devices: {
        admission: "approve" as const,
        capabilities: { vision: { url: "http://127.0.0.1/v", token: visionToken } },
      },
    };
    const site = await openSite({ logger, config });
    const shown: string[] = [];
    const rest = async (...question: Parameters<typeof site.rest>) => {
      const answer = await site.rest(...question);
      shown.push(answer.text, JSON.stringify(answer.headers));
      return answer;
    };
    const reader = await site.events();

    const clientId = "client-secret-0002";
    const { token } = site.tendon.provision(firstDevice, clientId).websocket;
    const pair = { "Device-Id": firstDevice, "Client-Id": clientId };
    const wrong = "wrong-secret-0003";
    for (const headers of [
      { ...pair, Authorization: `Bearer ${wrong}` },
      { "Device-Id": firstDevice, "Client-Id": "other-secret-0004", Authorization: `Bearer ${token}` },
      { "Device-Id": "not a device", "Client-Id": clientId, Authorization: `Bearer ${token}` },
      { "Device-Id": "02:00:00:00:00:99", "Client-Id": clientId, Authorization: `Bearer ${token}` },
    ]) {
      const refused = await WebSocketWire.open(site.url, { headers }).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(Refused);
      shown.push((refused as Refused).body);
    }
    const wire = await WebSocketWire.open(site.url, {
      headers: { ...pair, Authorization: `Bearer ${token}` },
    });
    const device = new RawDevice(wire, firstDevice);
    await device.greet();
    await device.setUp({ tools: [tool("a")] });
    await site.listed(firstDevice);
    device.sendText('{"type":"strange"}');
    device.sendText("not JSON");
    const call = rest("POST", `/devices/${firstDevice}/tools/a/call`, {});
    device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
    await call;
    const failing = rest("POST", `/devices/${firstDevice}/tools/a/call`, {});
    device.refuse((await device.nextRequest("tools/call")).id, "no");
    await failing;
    for (const path of [
      "/devices",
      `/devices/${firstDevice}`,
      `/devices/${firstDevice}/tools?user=true`,
      "/nothing",
    ]) {
      await rest("GET", path);
    }
    await rest("POST", "/devices/provision", { id: "no id", clientId });
    await rest("POST", "/devices/provision", { id: firstDevice, clientId, unknown: wrong });
    await rest("GET", "/devices", undefined, { authorization: `Bearer ${wrong}` });
    shown.push((await askAll(site.url, { path: "/metrics" })).text);
    shown.push((await askAll(site.url, { path: "/api/v1/openapi.json" })).text);
    wire.cut();
    await until(() => reader.seen.some(({ type }) => type === "device.offline"));
    shown.push(...reader.seen.map(({ raw }) => raw));
    await site.tendon.stop();

    expect(lines.map((line) => asObject(line)["msg"])).toEqual(
      expect.arrayContaining([
        "gateway started",
        "device refused",
        "device online",
        "sign-in failed",
        "call finished",
      ]),
    );
    const everything = [...lines, ...shown].join("\n");
    for (const secret of [adminToken, token, clientId, wrong, "other-secret-0004", visionToken]) {
      expect(everything).not.toContain(secret);
    }
  });

  it("are shown only in the answer to provisioning", async () => {
    const site = await openSite();
    const secret = "client-secret-0005";
    const made = await site.rest("POST", "/devices/provision", { id: firstDevice, clientId: secret });
    const { token } = made.body["websocket"] as { token: string };
    const device = await site.join({ clientId: secret, token });
    const { text } = await site.rest("GET", "/devices");
    expect(text).toContain(device.id);
    for (const hidden of [secret, token]) expect(text).not.toContain(hidden);
  });

  it("in an address are neither accepted nor logged", async () => {
    const { lines, logger } = memoryLog();
    const site = await openSite({ logger });
    const { status, text } = await askAll(site.url, { path: `/api/v1/nothing?token=${adminToken}` });
    await site.tendon.stop();
    expect(status).toBe(404);
    expect([text, ...lines].join("\n")).not.toContain(adminToken);
  });
});

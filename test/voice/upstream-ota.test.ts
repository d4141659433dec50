import fs from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { startTendon } from "@tendon/gateway";
import type { VoiceServerOptions } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Answer, askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { adminToken, type Site } from "../site.ts";
import { ask, boardId, mqttBoard, openUpstream, openVoiceSite, webSocketBoard } from "./voice-site.ts";

const clientId = "0b6ff1d2-5a0e-4a52-8a64-5a60a6f0c0de";

async function scene(ota: VoiceServerOptions["ota"] = {}, more: VoiceServerOptions = {}) {
  const upstream = await openUpstream({ ota, ...more });
  const { ota: endpoint } = upstream.server;
  if (endpoint === undefined) throw new TypeError("the server has no OTA endpoint");
  const site = await openVoiceSite([{ signIn: "ota", ota: upstream.server.otaUrl }]);
  return { upstream, site, ota: endpoint };
}

/** The gateway's OTA reply to a board. */
async function boot(site: Site, activate = false): Promise<Answer> {
  return await askAll(site.url, {
    method: "POST",
    path: `/xiaozhi/ota/${activate ? "activate" : ""}`,
    headers: { "device-id": boardId, "client-id": clientId, "user-agent": "virtual-esp32/2.4.2" },
    body: JSON.stringify({ application: { version: "2.4.2" } }),
  });
}

/** An OTA address with the answer of the test. */
async function oddAddress(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/ota/`;
}

function saying(reply: unknown): (response: ServerResponse) => void {
  return (response) => response.end(JSON.stringify(reply));
}

describe("a voice server's OTA address with invalid answers", () => {
  it.each<[string, (response: ServerResponse) => void]>([
    ["without end", (response) => response.end(`{"x":"${"y".repeat(200_000)}"}`)],
    [
      "by sending elsewhere",
      (response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    ],
    ["in words", (response) => response.end("not today")],
    ["with a list", saying([])],
    ["with an address that is none", saying({ websocket: { url: "file:///etc/passwd", token: "t" } })],
    ["with an address of another kind", saying({ websocket: { url: 7 } })],
    ["with an activation that is none", saying({ activation: { code: 7, challenge: {} } })],
    ["with an activation without end", saying({ activation: { code: "1".repeat(5_000) } })],
    ["by hanging up", (response) => response.destroy()],
  ])("[VOI-11] does not affect a board: %s", async (_, answer) => {
    const site = await openVoiceSite([{ signIn: "ota", ota: await oddAddress(answer) }]);
    const { status, body, text } = await boot(site);
    expect(status).toBe(200);
    expect(body["mqtt"]).toBeDefined();
    expect(body["activation"]).toBeUndefined();
    expect(Buffer.byteLength(text)).toBeLessThan(8_000);
    const device = mqttBoard(site);
    await device.connect();
    const told = device.waitFor("message", ({ type }) => type === "alert");
    await device.openAudio();
    expect((await told).fields["message"]).toBe("The voice server rejected this device.");
  });

  it("[VOI-11] does not delay a board when it is late", async () => {
    const clock = new ManualClock();
    let asked = false;
    const ota = await oddAddress(() => {
      asked = true;
    });
    const site = await openVoiceSite([{ signIn: "ota", ota }], { clock });
    const settings = boot(site);
    await until(() => asked, "the question");
    clock.advance(5_000);
    expect((await settings).body["mqtt"]).toBeDefined();
  });
});

describe("a voice server with its own OTA address", () => {
  it.each([webSocketBoard, mqttBoard])(
    "[VOI-11] gives the token that a board signs in with",
    async (make) => {
      const { upstream, site, ota } = await scene();
      const device = make(site);
      await device.connect();
      await device.openAudio();
      const connection = await upstream.connections.take();
      await ask(device, connection);
      expect(connection.headers.authorization).toBe(`Bearer ${ota.accountOf(boardId)?.token}`);
      expect(ota.accountOf(boardId)?.client).toBe(clientId);
    },
  );

  it("[VOI-11] is asked once, and again when its token is rejected", async () => {
    const { upstream, site, ota } = await scene();
    const device = mqttBoard(site);
    await device.connect();
    for (let round = 0; round < 3; round += 1) {
      await device.openAudio();
      await ask(device, await upstream.connections.take());
      await device.closeAudio();
    }
    expect(ota.accountOf(boardId)?.asked).toBe(1);
    ota.changeTokens();
    await device.openAudio();
    await ask(device, await upstream.connections.take());
    expect(ota.accountOf(boardId)?.asked).toBe(2);
  });

  it("[VOI-11] shows its code on a board that must be activated, and forwards the activation", async () => {
    const { site, ota } = await scene({ activation: true });
    const first = await boot(site);
    const { activation, mqtt } = first.body as {
      activation?: { code: string; message: string };
      mqtt?: object;
    };
    const code = ota.accountOf(boardId)?.code ?? "";
    expect(activation).toMatchObject({ code, message: `desk\n${code}`, challenge: "c" });
    expect(mqtt).toBeUndefined();
    expect((await boot(site, true)).status).toBe(202);
    ota.enter(code);
    expect((await boot(site, true)).status).toBe(200);
    const second = await boot(site);
    expect(second.body["activation"]).toBeUndefined();
    expect(second.body["mqtt"]).toMatchObject({ publish_topic: "device-server" });
    // Its addresses are the gateway's, without the voice server's address and token.
    expect(second.text).not.toContain("desk-");
    expect(second.text).not.toContain("xiaozhi/v1");
  });

  it("[VOI-11] shows the code to a board that talks before its activation", async () => {
    const { site, ota } = await scene({ activation: true });
    const device = mqttBoard(site);
    await device.connect();
    const told = device.waitFor("message", ({ type }) => type === "alert");
    await device.openAudio();
    const code = ota.accountOf(boardId)?.code;
    expect((await told).fields["message"]).toBe(`Activate this device at its voice server. Code: ${code}`);
  });

  it("[VOI-11] when unreachable, affects neither a board's settings nor, after an earlier one, its conversation", async () => {
    const { upstream, site, ota } = await scene();
    expect((await boot(site)).body["mqtt"]).toBeDefined();
    ota.failing = 500;
    expect((await boot(site)).body["mqtt"]).toBeDefined();
    const device = mqttBoard(site);
    await device.connect();
    await device.openAudio();
    await ask(device, await upstream.connections.take());
  });

  it("[VOI-11] causes an alert when its reply is useless", async () => {
    const { site, ota } = await scene();
    ota.failing = 503;
    const device = mqttBoard(site);
    await device.connect();
    const told = device.waitFor("message", ({ type }) => type === "alert");
    await device.openAudio();
    expect((await told).fields["message"]).toBe("The voice server rejected this device.");
  });

  it("[VOI-11] is not asked for a board that is not admitted", async () => {
    const upstream = await openUpstream({ ota: {} });
    const site = await openVoiceSite([{ signIn: "ota", ota: upstream.server.otaUrl }], {
      config: { devices: { admission: "approve" } },
    });
    expect((await boot(site)).body["activation"]).toMatchObject({
      message: expect.stringMatching(/^Tendon/),
    });
    expect(upstream.server.ota?.accountOf(boardId)).toBeUndefined();
  });

  it("[VOI-11] has its reply stored encrypted, kept across a restart, and deleted with the device", async () => {
    const { upstream, site, ota } = await scene();
    const device = mqttBoard(site);
    await device.connect();
    await device.openAudio();
    await ask(device, await upstream.connections.take());
    const token = ota.accountOf(boardId)?.token ?? "";
    expect(token).toMatch(/^desk-/);
    await site.tendon.stop();
    const files = fs.readdirSync(site.folder, { recursive: true, encoding: "utf8" });
    const contents = files
      .map((file) => path.join(site.folder, file))
      .filter((file) => fs.statSync(file).isFile())
      .map((file) => fs.readFileSync(file, "latin1"));
    expect(contents.some((text) => text.includes("tendon_voice_accounts"))).toBe(true);
    expect(contents.filter((text) => text.includes(token))).toEqual([]);

    ota.failing = 500;
    const again = await startTendon(
      { ...site.tendon.config, http: { port: 0 }, mqtt: { port: 0 } },
      { adminToken },
    );
    onTestFinished(() => again.stop());
    const back = mqttBoard({ tendon: again } as Site);
    await back.connect();
    await back.openAudio();
    expect((await upstream.connections.take()).headers.authorization).toBe(`Bearer ${token}`);
    await back.closeAudio();

    const headers = { authorization: `Bearer ${adminToken}` };
    await askAll(again.url, { method: "DELETE", path: `/api/v1/devices/${boardId}`, headers });
    ota.failing = undefined;
    const stranger = mqttBoard({ tendon: again } as Site);
    const before = ota.accountOf(boardId)?.asked ?? 0;
    await stranger.connect();
    await stranger.openAudio();
    await upstream.connections.take();
    expect(ota.accountOf(boardId)?.asked).toBe(before + 1);
    await until(() => upstream.server.connections.size === 1, "one connection");
  });
});

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { startTendon, type Tendon } from "@tendon/gateway";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Answer, askAll } from "./http-client.ts";
import { MqttRefused, type MqttSettings, MqttWire } from "./mqtt-wire.ts";
import { OtaBoard } from "./ota-board.ts";
import { adminToken, firstDevice } from "./site.ts";

function dataFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-provisioning-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function start(data: string, admission: "approve" | "list" = "approve"): Promise<Tendon> {
  const tendon = await startTendon(
    { data, http: { port: 0 }, mqtt: { port: 0 }, devices: { admission }, log: { level: "silent" } },
    { adminToken },
  );
  onTestFinished(() => tendon.stop());
  return tendon;
}

async function rest(tendon: Tendon, method: string, at: string, body?: unknown): Promise<Answer> {
  return await askAll(tendon.url, {
    method,
    path: `/api/v1${at}`,
    headers: {
      authorization: `Bearer ${adminToken}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}

/** The CONNACK's return code at the running gateway. A board keeps its settings, but the test's ports change. */
async function signsIn(tendon: Tendon, settings: MqttSettings | undefined): Promise<number> {
  if (settings === undefined) return -1;
  const endpoint = tendon.addresses.mqtt.replace("mqtt://", "");
  try {
    (await MqttWire.open({ ...settings, endpoint })).cut();
    return 0;
  } catch (error) {
    if (error instanceof MqttRefused) return error.returnCode;
    throw error;
  }
}

describe("after a restart", () => {
  it("[OTA-5] a waiting board keeps its code and challenge, and can be approved", async () => {
    const data = dataFolder();
    const first = await start(data);
    const shown = await new OtaBoard(first.url).shown();
    await first.stop();
    const second = await start(data);
    const board = new OtaBoard(second.url);
    expect(await board.shown()).toEqual(shown);
    expect((await rest(second, "POST", "/devices/approve", { code: shown.code })).status).toBe(200);
    expect((await board.activate()).status).toBe(200);
    await second.stop();
    // An approved board that never connected is kept too.
    const third = await start(data);
    const settings = await new OtaBoard(third.url).mqtt();
    expect(await signsIn(third, settings)).toBe(0);
  });

  it("[PRV-3] revocations, replacements and the device's transport are kept", async () => {
    const data = dataFolder();
    const first = await start(data);
    const one = new OtaBoard(first.url);
    await rest(first, "POST", "/devices/approve", { code: (await one.shown()).code });
    const revoked = await one.mqtt();
    expect(await signsIn(first, revoked)).toBe(0);
    await rest(first, "POST", `/devices/${firstDevice}/revoke`);
    const other = new OtaBoard(first.url, { deviceId: "02:00:00:00:00:02" });
    await rest(first, "POST", "/devices/approve", { code: (await other.shown()).code });
    const replaced = await other.mqtt();
    const copy = new OtaBoard(first.url, { deviceId: other.deviceId, clientId: "copy" });
    await rest(first, "POST", "/devices/approve", { code: (await copy.shown()).code });
    const kept = await copy.mqtt();
    await rest(first, "PATCH", `/devices/${other.deviceId}`, { transport: "websocket" });
    await first.stop();

    const second = await start(data);
    expect(await signsIn(second, revoked)).toBe(4);
    expect(await signsIn(second, replaced)).toBe(4);
    expect(await signsIn(second, kept)).toBe(0);
    const again = new OtaBoard(second.url);
    expect((await rest(second, "GET", `/devices/${firstDevice}`)).body["approval"]).toBe("revoked");
    const { code } = await again.shown();
    expect((await rest(second, "POST", "/devices/approve", { code })).status).toBe(200);
    expect(await signsIn(second, revoked)).toBe(4);
    expect(await signsIn(second, await again.mqtt())).toBe(0);
    const told = await new OtaBoard(second.url, { deviceId: other.deviceId, clientId: "copy" }).ask();
    expect(Object.keys(told.body).sort()).toEqual(["firmware", "server_time", "websocket"]);
  });

  it("[OTA-7] the imported list is kept, with its keys encrypted in the files", async () => {
    const data = dataFolder();
    const first = await start(data, "list");
    const serial = { number: "SN-1", key: "c0ffee".padEnd(64, "0") };
    await rest(first, "POST", "/devices/import", {
      devices: [{ id: firstDevice, serial: serial.number, hmacKey: serial.key }],
    });
    await first.stop();
    for (const name of fs.readdirSync(data)) {
      const file = path.join(data, name);
      if (fs.statSync(file).isFile()) expect(fs.readFileSync(file).includes(serial.key)).toBe(false);
    }
    const second = await start(data, "list");
    const board = new OtaBoard(second.url, { serial });
    expect((await board.activate((await board.shown()).challenge)).status).toBe(200);
  });
});

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { StartError, startTendon, type Tendon } from "@tendon/gateway";
import { describe, expect, it, onTestFinished } from "vitest";
import { askAll } from "./http-client.ts";
import { until } from "./inbox.ts";
import { RawDevice, textContent, tool } from "./raw-device.ts";
import { secretWatch } from "./secret-watch.ts";
import { webSocketTransport } from "./websocket-wire.ts";

const token = "a-token-for-these-tests";

function dataFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-persistence-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function start(data: string, admission: "open" | "approve" = "approve"): Promise<Tendon> {
  const tendon = await startTendon(
    { data, http: { port: 0 }, mqtt: { port: 0 }, devices: { admission }, log: { level: "silent" } },
    { adminToken: token, logger: secretWatch.logger() },
  );
  onTestFinished(() => tendon.stop());
  return tendon;
}

async function rest(tendon: Tendon, method: string, at: string, body?: unknown) {
  return await askAll(tendon.url, {
    method,
    path: `/api/v1${at}`,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}

const deviceId = "02:00:00:00:00:01";
const clientId = "11111111-2222-4333-8444-555555555555";

/** Connects the device with its credentials, and waits until it is initialized and listed. */
async function join(tendon: Tendon, deviceToken: string): Promise<RawDevice> {
  const device = new RawDevice(
    await webSocketTransport.connect(tendon.url, { deviceId, clientId, token: deviceToken }),
    deviceId,
  );
  onTestFinished(() => device.cut());
  await device.greet();
  await device.setUp({ board: "lamp-board", firmware: "3.2.1", tools: [tool("self.lamp.on")] });
  await until(async () => (await rest(tendon, "GET", `/devices/${deviceId}`)).body["toolsComplete"] === true);
  return device;
}

describe("after a restart", () => {
  it("keeps devices, aliases, tools, names, credentials and disconnect reasons", async () => {
    const data = dataFolder();
    const first = await start(data);
    const { websocket } = first.provision(deviceId, clientId);
    const device = await join(first, websocket.token);
    const before = (await rest(first, "GET", "/devices/lamp-board-0001")).body;
    const tools = (await rest(first, "GET", "/devices/lamp-board-0001/tools")).body;
    await first.stop();
    device.cut();

    const second = await start(data);
    const after = (await rest(second, "GET", "/devices/lamp-board-0001")).body;
    expect(after).toMatchObject({
      id: deviceId,
      alias: "lamp-board-0001",
      board: "lamp-board",
      firmware: "3.2.1",
      online: false,
      toolCount: before["toolCount"],
      lastDisconnect: { reason: "the gateway is stopping" },
    });
    expect((await rest(second, "GET", "/devices/lamp-board-0001/tools")).body).toEqual(tools);
    const offline = await rest(second, "POST", `/devices/${deviceId}/tools/self.lamp.on/call`, {});
    expect(offline.body["code"]).toBe("device_offline");
    const unfit = await rest(second, "POST", `/devices/${deviceId}/tools/self.other/call`, {});
    expect(unfit.body["code"]).toBe("tool_unknown");

    const history = (await rest(second, "GET", "/calls?device=lamp-board-0001")).body["calls"] as {
      tool: string;
    }[];
    expect(history).toMatchObject([
      { tool: "self.other", outcome: "tool_unknown", principal: "admin", device: deviceId },
      { tool: "self.lamp.on", outcome: "device_offline" },
    ]);

    const again = await join(second, websocket.token);
    const answer = rest(second, "POST", `/devices/${deviceId}/tools/self.lamp.on/call`, {});
    again.reply((await again.nextRequest("tools/call")).id, textContent("on"));
    expect((await answer).status).toBe(200);
  });

  it("keeps the history, filtered and paged, newest first", async () => {
    const data = dataFolder();
    const first = await start(data);
    const { websocket } = first.provision(deviceId, clientId);
    await join(first, websocket.token);
    for (let count = 0; count < 5; count += 1) {
      await rest(first, "POST", `/devices/${deviceId}/tools/missing-${count}/call`, {});
    }
    await first.stop();
    const second = await start(data);
    const page = await rest(second, "GET", "/calls?limit=2&outcome=tool_unknown");
    expect(page.body["calls"]).toMatchObject([{ tool: "missing-4" }, { tool: "missing-3" }]);
    const next = await rest(
      second,
      "GET",
      `/calls?limit=2&outcome=tool_unknown&cursor=${page.body["nextCursor"]}`,
    );
    expect(next.body["calls"]).toMatchObject([{ tool: "missing-2" }, { tool: "missing-1" }]);
    expect((await rest(second, "GET", "/calls?tool=missing-0")).body["calls"]).toHaveLength(1);
    expect((await rest(second, "GET", "/calls?since=2999-01-01T00:00:00Z")).body["calls"]).toEqual([]);
    expect((await rest(second, "GET", "/calls?cursor=nonsense")).body["code"]).toBe("bad_request");
  });

  it("[OTA-2] another Client-Id of a known device still gets nothing", async () => {
    const data = dataFolder();
    const first = await start(data, "open");
    first.provision(deviceId, clientId);
    await first.stop();
    const second = await start(data, "open");
    const stranger = webSocketTransport.connect(second.url, {
      deviceId,
      clientId: "another-client",
      token: "guess",
    });
    await expect(stranger).rejects.toMatchObject({ status: 401 });
    const asked = await askAll(second.url, {
      method: "POST",
      path: "/xiaozhi/ota/",
      headers: { "device-id": deviceId, "client-id": "another-client" },
      body: "{}",
    });
    expect(asked.status).toBe(200);
    expect(asked.body).not.toHaveProperty("mqtt");
  });

  it("keeps alias, tags and old aliases of a device", async () => {
    const data = dataFolder();
    const first = await start(data);
    const { websocket } = first.provision(deviceId, clientId);
    const device = await join(first, websocket.token);
    const changed = await rest(first, "PATCH", `/devices/${deviceId}`, {
      alias: "desk",
      tags: ["office", "lamp"],
    });
    expect(changed.body).toMatchObject({ alias: "desk", tags: ["office", "lamp"] });
    expect((await rest(first, "GET", "/devices?tag=office")).body["devices"]).toMatchObject([
      { alias: "desk" },
    ]);
    expect((await rest(first, "GET", "/devices?tag=garden")).body["devices"]).toEqual([]);
    const fanOut = rest(first, "POST", "/calls", { target: { tag: "lamp" }, tool: "self.lamp.on" });
    device.reply((await device.nextRequest("tools/call")).id, textContent("on"));
    expect((await fanOut).body).toMatchObject({ ok: 1, failed: 0 });
    const { token: limited } = (
      await rest(first, "POST", "/tokens", { name: "t", scopes: ["read"], devices: { tags: ["office"] } })
    ).body as unknown as { token: string };
    expect(limited).toMatch(/^tdn_/);
    for (const wrong of [{ alias: "Desk" }, { alias: "" }, { tags: ["a b"] }, {}, { colour: 1 }]) {
      expect((await rest(first, "PATCH", `/devices/${deviceId}`, wrong)).status).toBe(400);
    }
    await first.stop();
    device.cut();
    const second = await start(data);
    for (const name of ["desk", "lamp-board-0001", deviceId]) {
      expect((await rest(second, "GET", `/devices/${name}`)).body).toMatchObject({
        alias: "desk",
        tags: ["office", "lamp"],
      });
    }
    await join(second, websocket.token);
    expect((await rest(second, "GET", `/devices/${deviceId}`)).body["alias"]).toBe("desk");
  });

  it("does not restore a deleted device, its names and its credentials", async () => {
    const data = dataFolder();
    const first = await start(data);
    const { websocket } = first.provision(deviceId, clientId);
    const device = await join(first, websocket.token);
    expect((await rest(first, "DELETE", "/devices/lamp-board-0001")).status).toBe(204);
    expect((await device.wire.ended).reason).toBe("the device was deleted");
    expect((await rest(first, "GET", `/devices/${deviceId}`)).body["code"]).toBe("device_unknown");
    const again = webSocketTransport.connect(first.url, { deviceId, clientId, token: websocket.token });
    await expect(again).rejects.toMatchObject({ status: 403 });
    await first.stop();
    const second = await start(data);
    expect((await rest(second, "GET", "/devices")).body["devices"]).toEqual([]);
  });

  it("rejects a second gateway on the same folder until the first has stopped", async () => {
    const data = dataFolder();
    const first = await start(data);
    const { websocket } = first.provision(deviceId, clientId);
    await join(first, websocket.token);
    await expect(start(data)).rejects.toThrow(
      new StartError(
        `${data} is already used by process ${process.pid}. Stop it, or choose another folder with --data.`,
      ),
    );
    expect((await rest(first, "GET", `/devices/${deviceId}`)).body).toMatchObject({ online: true });
    await first.stop();
    const second = await start(data);
    expect((await rest(second, "GET", `/devices/${deviceId}`)).body).toMatchObject({
      board: "lamp-board",
      online: false,
    });
  });
});

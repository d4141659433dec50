import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { startTendon, type Tendon } from "@tendon/gateway";
import { expect, it, onTestFinished } from "vitest";
import { type Answer, askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import { RawDevice, textContent, tool } from "../raw-device.ts";
import { webSocketTransport } from "../websocket-wire.ts";

const admin = "an-admin-token-for-restarts";
const deviceId = "02:00:00:00:00:01";
const clientId = "11111111-2222-4333-8444-555555555555";
const at = `/devices/${deviceId}/tools/set/call`;

async function start(data: string): Promise<Tendon> {
  const tendon = await startTendon(
    {
      data,
      http: { port: 0 },
      mqtt: { port: 0 },
      log: { level: "silent" },
      access: { rules: [{ tool: "set", effect: "confirm" }] },
    },
    { adminToken: admin },
  );
  onTestFinished(() => tendon.stop());
  return tendon;
}

async function rest(
  tendon: Tendon,
  token: string,
  method: string,
  where: string,
  body?: unknown,
): Promise<Answer> {
  return await askAll(tendon.url, {
    method,
    path: `/api/v1${where}`,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}

async function join(tendon: Tendon, token: string): Promise<RawDevice> {
  const device = new RawDevice(
    await webSocketTransport.connect(tendon.url, { deviceId, clientId, token }),
    deviceId,
  );
  onTestFinished(() => device.cut());
  await device.greet();
  await device.setUp({ tools: [tool("set", { level: { type: "integer" } })] });
  await until(
    async () => (await rest(tendon, admin, "GET", `/devices/${deviceId}`)).body["toolsComplete"] === true,
  );
  return device;
}

it("[APR-6] waiting requests and approvals survive a restart", async () => {
  const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-restart-"));
  onTestFinished(() => fs.rmSync(data, { recursive: true, force: true }));
  const first = await start(data);
  const { websocket } = first.provision(deviceId, clientId);
  await join(first, websocket.token);
  const made = await rest(first, admin, "POST", "/tokens", { name: "agent", scopes: ["call"] });
  const agent = String(made.body["token"]);
  const ask = async (tendon: Tendon, level: number) =>
    await rest(tendon, agent, "POST", at, { arguments: { level } });
  const granted = String((await ask(first, 1)).body["approvalId"]);
  const waiting = String((await ask(first, 2)).body["approvalId"]);
  const denied = String((await ask(first, 3)).body["approvalId"]);
  expect((await rest(first, admin, "POST", `/approvals/${granted}/approve`)).status).toBe(200);
  expect((await rest(first, admin, "POST", `/approvals/${denied}/deny`)).status).toBe(200);
  await first.stop();

  const second = await start(data);
  const { body } = await rest(second, admin, "GET", "/approvals?state=waiting");
  expect(body["approvals"]).toMatchObject([{ id: waiting, principal: "agent", arguments: { level: 2 } }]);
  const device = await join(second, websocket.token);
  expect((await ask(second, 2)).body["approvalId"]).toBe(waiting);
  expect((await ask(second, 3)).body).toMatchObject({ approvalId: denied, approvalState: "denied" });
  const answer = ask(second, 1);
  device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
  expect((await answer).status).toBe(200);
  expect((await rest(second, admin, "POST", `/approvals/${waiting}/approve`)).status).toBe(200);
  const other = ask(second, 2);
  device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
  expect((await other).status).toBe(200);
  const history = await rest(second, admin, "GET", "/calls?outcome=ok");
  expect(history.body["calls"]).toMatchObject([{ approval: waiting }, { approval: granted }]);
});

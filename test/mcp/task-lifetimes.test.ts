/** How long tasks of queued calls and jobs can be read: after a restart of the gateway, and until they expire. */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type Fields, textContent, tool } from "../raw-device.ts";
import { RestartingGateway } from "../restarting-gateway.ts";
import { openSite } from "../site.ts";
import { askModern } from "./rpc.ts";

const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const device = "02:00:00:00:00:01";
const other = "02:00:00:00:00:02";
const dayMs = 24 * 60 * 60_000;
const offer = { tools: [tool("self.lamp.dim")] };

describe("[SRV-19] a task", () => {
  it("survives a restart, if its call or job waits for a device", async () => {
    const gateway = await RestartingGateway.start();
    const { body } = await gateway.rest("POST", "/tokens", { name: "agent", scopes: ["read", "call"] });
    const ask = async (method: string, params: Fields) => {
      const options = { token: String(body["token"]), capabilities };
      return (await askModern(gateway, method, params, options))["result"] as Fields;
    };
    const credentials = await gateway.provision(device);
    await gateway.provision(other);
    const board = await gateway.join(device, offer, credentials);
    board.close();
    await until(
      async () => (await gateway.rest("GET", `/devices/${device}`)).body["online"] === false,
      "the device is offline",
    );
    const args = { tool: "self.lamp.dim", when_offline: "queue", expires_in_s: 3_600 };
    const call = await ask("tools/call", { name: "device_call", arguments: { device, ...args } });
    const job = await ask("tools/call", { name: "fleet_call", arguments: { devices: [device], ...args } });
    const tasks = [call, job].map(({ taskId }) => taskId);
    await until(async () => {
      const { statusMessage } = await ask("tasks/get", { taskId: tasks[1] });
      return String(statusMessage).includes("1 wait");
    }, "the queued call of the job");
    await gateway.restart();
    for (const taskId of tasks)
      expect(await ask("tasks/get", { taskId })).toMatchObject({ taskId, status: "working" });
    const again = await gateway.join(device, offer, credentials);
    for (const text of ["first", "second"]) {
      const { id } = await again.nextRequest("tools/call");
      again.reply(id, textContent(text));
    }
    const ended = (taskId: unknown) =>
      until(async () => {
        const task = await ask("tasks/get", { taskId });
        return task["status"] !== "working" && task;
      }, "the end of the task");
    expect(await ended(tasks[0])).toMatchObject({ result: { content: [{ type: "text", text: "first" }] } });
    expect(await ended(tasks[1])).toMatchObject({ result: { structuredContent: { ok: 1, total: 1 } } });
  });

  it("survives a restart, if it is a job of more than 500 devices", async () => {
    const gateway = await RestartingGateway.start();
    for (let number = 0; number <= 500; number += 1) {
      const tail = number.toString(16).padStart(4, "0");
      await gateway.provision(`02:00:00:01:${tail.slice(0, 2)}:${tail.slice(2)}`);
    }
    const { body } = await gateway.rest("POST", "/tokens", { name: "agent", scopes: ["read", "call"] });
    const ask = async (method: string, params: Fields) => {
      const options = { token: String(body["token"]), capabilities };
      return (await askModern(gateway, method, params, options))["result"] as Fields;
    };
    const { taskId } = await ask("tools/call", {
      name: "fleet_call",
      arguments: { all: true, tool: "self.lamp.dim" },
    });
    const ended = () =>
      until(async () => {
        const task = await ask("tasks/get", { taskId });
        return task["status"] !== "working" && task;
      }, "the end of the job");
    const expected = { status: "completed", result: { structuredContent: { total: 501, failed: 501 } } };
    expect(await ended()).toMatchObject(expected);
    await gateway.restart();
    expect(await ended()).toMatchObject(expected);
  }, 60_000);

  it("expires a day after its call", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    await site.join(offer).then((board) => board.close());
    await until(async () => (await site.device(device))["online"] === false, "the device is offline");
    const ask = (method: string, params: Fields) => askModern(site, method, params, { capabilities });
    const args = { device, tool: "lamp_dim", when_offline: "queue", expires_in_s: 60 };
    const { result } = await ask("tools/call", { name: "device_call", arguments: args });
    const { taskId, ttlMs } = result as Fields;
    expect(ttlMs).toBe(60_000 + dayMs);
    clock.advance(60_000);
    const expired = {
      status: "completed",
      result: { isError: true, _meta: { "tendon/error": { code: "expired" } } },
    };
    expect((await ask("tasks/get", { taskId }))["result"]).toMatchObject(expired);
    clock.advance(dayMs + 1);
    expect((await ask("tasks/get", { taskId }))["error"]).toMatchObject({ code: -32602 });
  });
});

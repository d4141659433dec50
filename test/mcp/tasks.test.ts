/** Calls as tasks: the extension of 2026 and the form of 2025-11-25, for queued calls, jobs and photos. */
import type { Client } from "@modelcontextprotocol/client";
import { VirtualDevice } from "@tendon/simulator";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { makeToken } from "../access/tokens.ts";
import { until } from "../inbox.ts";
import { type Fields, type RawDevice, textContent, tool } from "../raw-device.ts";
import { adminToken, type Site, startSite } from "../site.ts";
import { eras, openAgent, textOf } from "./agent.ts";
import { awayDevice, backAgain } from "./away-device.ts";
import { askModern } from "./rpc.ts";

const extension = "io.modelcontextprotocol/tasks";
const declared = { extensions: { [extension]: {} } };
/** Accepts any result. */
const anything = {
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: (value: unknown) => ({ value: value as Fields }),
  },
};
const offer = { tools: [tool("self.lamp.dim"), tool("self.lamp.lock")] };
const rules = [{ tool: "self.lamp.lock", effect: "confirm" as const }];
const dayMs = 24 * 60 * 60_000;

let site: Site;
let devices = 0;
beforeAll(async () => {
  site = await startSite({ config: { access: { rules }, calls: { queue: 64 } } });
});
afterAll(() => site.stop());

function away(): Promise<string> {
  devices += 1;
  return awayDevice(site, `02:00:00:00:02:${devices.toString(16).padStart(2, "0")}`, offer);
}

function back(deviceId: string): Promise<RawDevice> {
  return backAgain(site, deviceId, offer);
}

async function answerNext(device: RawDevice, text: string): Promise<void> {
  const { id } = await device.nextRequest("tools/call");
  device.reply(id, textContent(text));
}

/** A camera board, which takes real pictures. */
async function camera(): Promise<string> {
  devices += 1;
  const mac = `02:00:00:00:03:${devices.toString(16).padStart(2, "0")}`;
  const clientId = `77777777-7777-4777-8777-${devices.toString(16).padStart(12, "0")}`;
  const { websocket } = site.tendon.provision(mac, clientId);
  const device = new VirtualDevice({
    board: { mac, clientId, name: "camera-board" },
    url: websocket.url,
    token: websocket.token,
  });
  onTestFinished(() => device.stop());
  await device.connect();
  await site.listed(mac);
  return mac;
}

/** A request that no official client makes: in the newer era, the SDK's client rejects a task as a result. */
function raw(method: string, params: Fields, options: object = {}): Promise<Fields> {
  return askModern(site, method, params, { capabilities: declared, ...options });
}

async function called(name: string, args: Fields, options = {}): Promise<Fields> {
  return (await raw("tools/call", { name, arguments: args }, options))["result"] as Fields;
}

/** The official client, which reads tasks in both eras. */
function reader(agent: Client) {
  const ask = (method: string, params: Fields) =>
    agent.request({ method, params } as Parameters<Client["request"]>[0], anything) as Promise<Fields>;
  const ended = (taskId: unknown) =>
    until(async () => {
      const task = await ask("tasks/get", { taskId });
      return task["status"] !== "working" && task;
    }, "the end of the task");
  return { ask, ended };
}

describe("[SRV-19] tasks of the extension", () => {
  it("are offered in both eras, and the older form only in sessions", async () => {
    for (const era of eras) {
      const agent = await openAgent(site, era);
      const offered = agent.getServerCapabilities();
      expect(offered?.extensions, era).toEqual({ [extension]: {} });
      expect(offered?.tasks !== undefined, era).toBe(era === "legacy");
    }
  });

  it("are a queued call, from waiting to its result", async () => {
    const device = await away();
    const before = Date.now();
    const task = await called("device_call", { device, tool: "lamp_dim", when_offline: "queue" });
    const { taskId } = task;
    expect(task).toMatchObject({ resultType: "task", status: "working", pollIntervalMs: 5_000 });
    expect(task).not.toHaveProperty("content");
    expect(Date.parse(String(task["createdAt"]))).toBeGreaterThanOrEqual(before);
    expect(Number(task["ttlMs"])).toBeGreaterThan(dayMs);
    const agent = await openAgent(site, "modern", { capabilities: declared });
    const { ask, ended } = reader(agent);
    const waiting = await ask("tasks/get", { taskId });
    expect(waiting).toMatchObject({ taskId, status: "working", ttlMs: task["ttlMs"] });
    expect(waiting["statusMessage"]).toContain("waits for its device until");
    expect(await ask("tasks/update", { taskId, inputResponses: {} })).not.toHaveProperty("taskId");
    await answerNext(await back(device), "dimmed");
    const end = await ended(taskId);
    expect(end).toMatchObject({
      status: "completed",
      result: { content: [{ type: "text", text: "dimmed" }] },
    });
    expect(JSON.stringify(end["result"])).not.toContain("related-task");
  });

  it("cancel the queued call, and acknowledge a second time", async () => {
    const device = await away();
    const { taskId } = await called("device_call", { device, tool: "lamp_dim", when_offline: "queue" });
    const { ask } = reader(await openAgent(site, "modern", { capabilities: declared }));
    for (let times = 0; times < 2; times += 1) {
      const ack = await ask("tasks/cancel", { taskId });
      expect(Object.keys(ack).filter((key) => key !== "_meta")).toEqual([]);
      expect(await ask("tasks/get", { taskId })).toMatchObject({ status: "cancelled" });
    }
    expect((await site.device(device))["waitingCalls"]).toBe(0);
  });

  it("end with a failed call as a result", async () => {
    const device = await away();
    const { token } = await makeToken(site, {});
    const args = { device, tool: "lamp_dim", when_offline: "queue" };
    const { taskId } = await called("device_call", args, { token });
    const board = await site.connect({ deviceId: device });
    await board.greet();
    await board.setUp({ tools: [tool("self.lamp.dim", { level: { type: "integer" } }, ["level"])] });
    const { result } = await until(async () => {
      const { result: task } = await raw("tasks/get", { taskId }, { token });
      return (task as Fields)["status"] === "completed" && (task as Fields);
    }, "the end of the task");
    expect(result).toMatchObject({ isError: true, _meta: { "tendon/error": { code: "refused" } } });
    expect(textOf(result as object)).toMatch(/^refused: /);
  });

  it("are a job with queued calls, whose cancellation cancels what waits", async () => {
    const [one, other] = [await away(), await away()];
    const args = { devices: [one, other], tool: "lamp_dim", when_offline: "queue", expires_in_s: 60 };
    const { taskId, resultType } = await called("fleet_call", args);
    expect(resultType).toBe("task");
    const { ask, ended } = reader(await openAgent(site, "modern", { capabilities: declared }));
    await until(async () => {
      const { statusMessage } = await ask("tasks/get", { taskId });
      return String(statusMessage).includes("2 wait");
    }, "two waiting calls");
    await answerNext(await back(one), "dimmed");
    await until(async () => {
      const { statusMessage } = await ask("tasks/get", { taskId });
      return String(statusMessage).startsWith("1 of 2 calls have ended");
    }, "the first result");
    await ask("tasks/cancel", { taskId });
    expect(await ended(taskId)).toMatchObject({
      status: "completed",
      result: { structuredContent: { state: "done", ok: 1, failed: 1, failedBy: { cancelled: 1 } } },
    });
  });

  it("are a photo, with its picture", async () => {
    const device = await camera();
    const { alias } = await site.device(device);
    const name = `${String(alias)}__camera_take_photo`;
    const task = await called(name, { question: "What is this?" });
    expect(task).toMatchObject({ resultType: "task", status: "working" });
    const { ended } = reader(await openAgent(site, "modern", { capabilities: declared }));
    const { status, result } = await ended(task["taskId"]);
    expect(status).toBe("completed");
    const { content } = result as { content: { type: string; data?: string }[] };
    expect(content.map(({ type }) => type)).toEqual(["text", "image"]);
    expect(Buffer.from(content[1]?.data ?? "", "base64").subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]));
    // Without the extension, or with wrong arguments, the same call is an ordinary one.
    const plain = await called(name, { question: "What is this?" }, { capabilities: {} });
    expect(plain).toMatchObject({ resultType: "complete", content: [{ type: "text" }, { type: "image" }] });
    const wrong = await called(name, {});
    expect(wrong).toMatchObject({ resultType: "complete", isError: true });
  });

  it("need the extension in every request of the newer era", async () => {
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const { error } = await raw(method, { taskId: "x" }, { capabilities: {} });
      expect(error, method).toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { extensions: { [extension]: {} } } },
      });
    }
    const device = await away();
    const args = { device, tool: "lamp_dim", when_offline: "queue" };
    const plain = await called("device_call", args, { capabilities: {} });
    expect(plain).toMatchObject({ resultType: "complete", structuredContent: { state: "queued" } });
  });

  it("are known only to their token, by an id that cannot be changed", async () => {
    const device = await away();
    const { token } = await makeToken(site, {});
    const args = { device, tool: "lamp_dim", when_offline: "queue" };
    const { taskId } = await called("device_call", args, { token });
    expect((await raw("tasks/get", { taskId }, { token }))["result"]).toMatchObject({ status: "working" });
    const id = String(taskId);
    const [kind = "", call = "", created = "", ttl = "", mac = ""] = id.split(".");
    const wrong = [
      { taskId: id, token: adminToken },
      { taskId: [kind, call, created, "zzzzzz", mac].join("."), token },
      {
        taskId: [kind, `${call.slice(0, -1)}${call.endsWith("0") ? "1" : "0"}`, created, ttl, mac].join("."),
        token,
      },
      { taskId: call, token },
      { taskId: "x".repeat(1_000), token },
      { taskId: 7, token },
    ];
    for (const { taskId: given, token: by } of wrong) {
      for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
        const { error } = await raw(method, { taskId: given }, { token: by });
        expect(error, `${method} ${String(given).slice(0, 80)}`).toMatchObject({ code: -32602 });
      }
    }
  });

  it("have the methods of 2026 only, and reject a header that names another task", async () => {
    for (const method of ["tasks/result", "tasks/list"])
      expect((await raw(method, { taskId: "x" }))["error"], method).toMatchObject({ code: -32601 });
    const device = await away();
    const { taskId } = await called("device_call", { device, tool: "lamp_dim", when_offline: "queue" });
    const named = (name: unknown) => raw("tasks/get", { taskId }, { headers: { "mcp-name": String(name) } });
    expect((await named(taskId))["result"]).toMatchObject({ taskId, resultType: "complete" });
    expect((await named("another"))["error"]).toMatchObject({ code: -32020 });
  });

  it("are declared in a session by initialize", async () => {
    const device = await away();
    const agent = await openAgent(site, "legacy", { capabilities: declared });
    const { ask, ended } = reader(agent);
    const params = { name: "device_call", arguments: { device, tool: "lamp_dim", when_offline: "queue" } };
    const task = await ask("tools/call", params);
    expect(task).toMatchObject({ status: "working", ttlMs: expect.any(Number) });
    await answerNext(await back(device), "dimmed");
    expect(await ended(task["taskId"])).toMatchObject({
      status: "completed",
      result: { content: [{ text: "dimmed" }] },
    });
  });
});

describe("[SRV-19] tasks of 2025-11-25", () => {
  async function older() {
    const agent = await openAgent(site, "legacy");
    const { ask, ended } = reader(agent);
    const start = async (name: string, args: Fields) => {
      const { task } = await ask("tools/call", { name, arguments: args, task: { ttl: 60_000 } });
      return task as Fields;
    };
    return { agent, ask, ended, start };
  }

  it("are offered by the tools that may take long", async () => {
    await camera();
    const { agent } = await older();
    const { tools } = await agent.listTools();
    const names = tools
      .filter(({ execution }) => execution?.taskSupport === "optional")
      .map(({ name }) => name);
    expect(names.filter((name) => !name.includes("__"))).toEqual(["device_call", "fleet_call"]);
    expect(names.some((name) => name.endsWith("__camera_take_photo"))).toBe(true);
  });

  it("are a queued call: tasks/result waits for its end", async () => {
    const device = await away();
    const { ask, start } = await older();
    const task = await start("device_call", { device, tool: "lamp_dim", when_offline: "queue" });
    const { taskId } = task;
    expect(task).toMatchObject({
      status: "working",
      ttl: expect.any(Number),
      pollInterval: expect.any(Number),
    });
    expect(task).not.toHaveProperty("ttlMs");
    const result = ask("tasks/result", { taskId });
    await answerNext(await back(device), "dimmed");
    expect(await result).toMatchObject({
      content: [{ type: "text", text: "dimmed" }],
      _meta: { "io.modelcontextprotocol/related-task": { taskId } },
    });
    const ended = await ask("tasks/get", { taskId });
    expect(ended).toMatchObject({ taskId, status: "completed" });
    expect(ended).not.toHaveProperty("result");
  });

  it("are any call of device_call: one that a device runs, and one that fails", async () => {
    const device = await away();
    const board = await back(device);
    const { ask, start, ended } = await older();
    const started = start("device_call", { device, tool: "lamp_dim" });
    const request = await board.nextRequest("tools/call");
    const { taskId, status } = await started;
    expect(status).toBe("working");
    const result = ask("tasks/result", { taskId });
    board.reply(request.id, textContent("dimmed"));
    expect(await result).toMatchObject({ content: [{ text: "dimmed" }] });
    const failed = await start("device_call", { device: "no-such-device", tool: "lamp_dim" });
    expect(await ended(failed["taskId"])).toMatchObject({ status: "failed" });
    const reason = await ask("tasks/result", { taskId: failed["taskId"] });
    expect(reason).toMatchObject({ isError: true });
    expect(textOf(reason)).toMatch(/^device_unknown: /);
  });

  it("cancel a call that waits and one that runs, once", async () => {
    const device = await away();
    const { ask, start } = await older();
    const { taskId } = await start("device_call", { device, tool: "lamp_dim", when_offline: "queue" });
    expect(await ask("tasks/cancel", { taskId })).toMatchObject({ taskId, status: "cancelled" });
    await expect(ask("tasks/cancel", { taskId })).rejects.toMatchObject({ code: -32602 });
    await expect(ask("tasks/result", { taskId })).rejects.toThrow(/cancelled/);
    const board = await back(device);
    const started = start("device_call", { device, tool: "lamp_dim" });
    await board.nextRequest("tools/call");
    const { taskId: running } = await started;
    expect(await ask("tasks/cancel", { taskId: running })).toMatchObject({ status: "cancelled" });
  });

  it("are not for other tools", async () => {
    const device = await away();
    const { alias } = await site.device(device);
    const { start } = await older();
    for (const name of ["devices_list", `${String(alias)}__lamp_dim`])
      await expect(start(name, {}), name).rejects.toMatchObject({ code: -32601 });
  });

  it("are limited per token", async () => {
    const device = await away();
    const board = await back(device);
    const { start } = await older();
    const call = { device, tool: "lamp_dim" };
    await Promise.all(Array.from({ length: 32 }, () => start("device_call", call)));
    await expect(start("device_call", call)).rejects.toThrow(/rate_limited/);
    board.close();
    await until(async () => (await site.device(device))["online"] === false, "the device is offline");
    // Tasks that have ended make room.
    expect(await until(() => start("device_call", call).catch(() => false))).toMatchObject({
      status: "working",
    });
  });
});

describe.each([
  ["of the extension", { extensions: { [extension]: {} } }, {}],
  ["of 2025-11-25", {}, { task: {} }],
])("[SRV-19] a task %s whose call requires approval", (_form, capabilities, more) => {
  it("starts once the agent's user allows the call", async () => {
    const device = await away();
    const client = { ...capabilities, elicitation: { form: {} } };
    const agent = await openAgent(site, "legacy", { capabilities: client });
    const asked: string[] = [];
    agent.setRequestHandler("elicitation/create", ({ params }) => {
      asked.push(params.message);
      return { action: "accept", content: { allow: true } };
    });
    const { ask, ended } = reader(agent);
    const args = { device, tool: "lamp_lock", when_offline: "queue" };
    const created = await ask("tools/call", { name: "device_call", arguments: args, ...more });
    const { taskId } = (created["task"] ?? created) as Fields;
    expect(asked).toHaveLength(1);
    await answerNext(await back(device), "locked");
    expect(await ended(taskId)).toMatchObject({ taskId, status: "completed" });
    expect(asked).toHaveLength(1);
  });
});

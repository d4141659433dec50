/** Tasks of agents, started at one node and read at another. */
import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import { askModern } from "../mcp/rpc.ts";
import { type Fields, textContent, tool } from "../raw-device.ts";
import type { Site } from "../site.ts";
import { Engines } from "./nodes.ts";

const engines = new Engines();
const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const offer = { tools: [tool("self.lamp.dim")] };
const mac = "02:00:00:00:00:07";
const clientId = "77777777-7777-4777-8777-777777777777";

async function ask(site: Site, method: string, params: Fields): Promise<Fields> {
  return (await askModern(site, method, params, { capabilities }))["result"] as Fields;
}

async function ended(site: Site, taskId: unknown): Promise<Fields> {
  return await until(async () => {
    const task = await ask(site, "tasks/get", { taskId });
    return task["status"] !== "working" && task;
  }, "the end of the task");
}

describe("[SRV-19] a task", () => {
  it("is read at every node: a queued call, a job and a photo", async () => {
    const [one, two] = await (await engines.newFleet()).nodes(2);
    if (one === undefined || two === undefined) throw new TypeError("two nodes were asked for");
    const device = await one.join(offer);
    device.close();
    await until(async () => (await two.device(device.id))["online"] === false, "the device is offline");
    const args = { tool: "self.lamp.dim", when_offline: "queue" };
    const call = await ask(one, "tools/call", {
      name: "device_call",
      arguments: { device: device.id, ...args },
    });
    const job = await ask(one, "tools/call", {
      name: "fleet_call",
      arguments: { devices: [device.id], ...args },
    });
    for (const { taskId } of [call, job])
      expect(await ask(two, "tasks/get", { taskId })).toMatchObject({ taskId, status: "working" });
    const back = await two.connect({ deviceId: device.id });
    await back.greet();
    await back.setUp(offer);
    for (const text of ["first", "second"]) {
      const { id } = await back.nextRequest("tools/call");
      back.reply(id, textContent(text));
    }
    expect(await ended(two, call["taskId"])).toMatchObject({ result: { content: [{ text: "first" }] } });
    expect(await ended(two, job["taskId"])).toMatchObject({ result: { structuredContent: { ok: 1 } } });

    const { websocket } = one.tendon.provision(mac, clientId);
    const board = { mac, clientId, name: "camera-board" };
    const camera = new VirtualDevice({ board, url: websocket.url, token: websocket.token });
    onTestFinished(() => camera.stop());
    await camera.connect();
    await two.listed(mac);
    const photo = await ask(two, "tools/call", {
      name: "device_call",
      arguments: { device: mac, tool: "self.camera.take_photo", arguments: { question: "What is this?" } },
    });
    for (const site of [one, two]) {
      const { result } = await ended(site, photo["taskId"]);
      const { content } = result as { content: { type: string }[] };
      expect(content.map(({ type }) => type)).toEqual(["text", "image"]);
    }
  }, 60_000);
});

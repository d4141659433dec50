/** Messages of devices that the gateway does not understand, while a call waits for its answer. */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { type Fields, textContent, tool } from "./raw-device.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

const result = textContent("done");

async function frames(site: Site, device = firstDevice): Promise<Fields[]> {
  const { body } = await site.rest("GET", `/devices/${device}/frames`);
  return body["frames"] as Fields[];
}

describe("an answer that is not understood", () => {
  it.each<[string, (id: number) => unknown, string]>([
    [
      "without jsonrpc",
      (id) => ({ session_id: "s", type: "mcp", payload: { id, result } }),
      '/payload/jsonrpc is not "2.0"',
    ],
    [
      "with a text as id",
      (id) => ({ session_id: "s", type: "mcp", payload: { jsonrpc: "2.0", id: String(id), result } }),
      "/payload/id is not one of the integers we send",
    ],
    ["without an envelope", (id) => ({ jsonrpc: "2.0", id, result }), "no text in `type`"],
    [
      "with its payload as text",
      (id) => ({ type: "mcp", payload: JSON.stringify({ jsonrpc: "2.0", id, result }) }),
      "/payload is not an object",
    ],
  ])("%s ends the call, and its frame has the reason", async (_, answer, reason) => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const calling = site.call(firstDevice, "a");
    const { id } = await device.nextRequest("tools/call");
    device.sendText(JSON.stringify(answer(id)));
    expect(await calling).toMatchObject({
      status: 502,
      body: {
        code: "device_error",
        detail: `the device sent an answer that was not understood: ${reason}`,
        sent: true,
      },
    });
    expect((await frames(site)).at(-1)).toMatchObject({ way: "in", notUnderstood: reason });
    const next = site.call(firstDevice, "a");
    device.reply((await device.nextRequest("tools/call")).id, result);
    expect((await next).status).toBe(200);
    expect((await frames(site)).at(-1)).not.toHaveProperty("notUnderstood");
  });

  it.each([
    ["not JSON", "not JSON, or nested too deeply"],
    ['{"type":"mcp","payload":{"jsonrpc":"2.0","id":"mine","result":{}}}', "/payload/id is not"],
    ['{"type":"mcp","payload":{"id":2147483647,"result":{}}}', '/payload/jsonrpc is not "2.0"'],
  ])("cannot be assigned to a call (%s): the time-out names it", async (text, reason) => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = await site.join({ tools: [tool("a")] });
    const calling = site.call(firstDevice, "a", {}, { timeoutMs: 1_000 });
    await device.nextRequest("tools/call");
    device.sendText(text);
    await until(async () => (await frames(site)).at(-1)?.["notUnderstood"] !== undefined);
    clock.advance(1_000);
    const { body } = await calling;
    expect(body).toMatchObject({ code: "device_timeout", phase: "device" });
    expect(body["detail"]).toContain("no answer within 1000 ms, but the device sent a message that was not");
    expect(body["detail"]).toContain(reason);
  });

  it("of an unknown type is marked, and the call goes on", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const calling = site.call(firstDevice, "a");
    const { id } = await device.nextRequest("tools/call");
    device.send({ type: "weather" });
    await until(async () => (await frames(site)).at(-1)?.["notUnderstood"] === "unknown type `weather`");
    device.reply(id, result);
    expect((await calling).status).toBe(200);
  });
});

describe("a line of a program that is not understood", () => {
  async function lamp(): Promise<Site> {
    const program = fileURLToPath(new URL("./programs/lamp.mjs", import.meta.url));
    const entry = { alias: "lamp", command: process.execPath, args: [path.normalize(program)] };
    const site = await openSite({ config: { devices: { stdio: [entry] } } });
    await until(async () => (await site.device("lamp"))["online"] === true, "lamp online");
    return site;
  }

  it("ends the call that it was meant to answer", async () => {
    const site = await lamp();
    expect((await site.call("lamp", "text id")).body).toMatchObject({
      code: "device_error",
      detail: expect.stringContaining("`id` is text instead of the call's number") as string,
    });
    expect((await frames(site, "lamp")).at(-1)).toHaveProperty("notUnderstood");
    expect((await site.call("lamp", "no result")).body["code"]).toBe("device_error");
    expect((await site.call("lamp", "lamp.get")).status).toBe(200);
  });

  it("is named by the time-out of the call", async () => {
    const site = await lamp();
    const { body } = await site.call("lamp", "prints", {}, { timeoutMs: 200 });
    expect(body["code"]).toBe("device_timeout");
    expect(body["detail"]).toContain("not JSON");
  });

  it("cannot be a notification: JSON lines have none", async () => {
    const site = await lamp();
    const message = { jsonrpc: "2.0", method: "notifications/x" };
    const { status, body } = await site.rest("POST", "/devices/lamp/mcp", message);
    expect([status, body["code"]]).toEqual([400, "bad_request"]);
  });
});

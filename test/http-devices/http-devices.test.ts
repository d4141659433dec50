/** [HTD-1…] MCP servers over HTTP as devices: calls, errors, drops and deadlines, for servers of each kind. */
import { httpServerKinds } from "@tendon/simulator";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { openSite, type Site } from "../site.ts";
import { online, openServer, siteWith, textOf } from "./servers.ts";

describe.each(httpServerKinds)("an MCP server over HTTP (%s)", (kind) => {
  it("[HTD-1] is a device like any other, its id being its alias", async () => {
    const server = await openServer({ kind });
    const site = await siteWith(server);
    await online(site);
    const protocolVersion = { sessions: "2025-11-25", modern: "2026-07-28", espressif: "2024-11-05" }[kind];
    expect(await site.device("lamp")).toMatchObject({
      id: "lamp",
      kind: "http",
      transport: "http",
      approval: "approved",
      board: `simulated-${kind}`,
      firmware: "1.0.0",
      protocolVersion,
      toolsComplete: true,
      server: { origin: new URL(server.url).origin, configured: true, problem: null },
    });
    expect(textOf((await site.call("lamp", "lamp.set", { on: true })).body)).toBe("the lamp is on");
    expect(textOf((await site.call("lamp", "lamp.get")).body)).toBe("the lamp is on");
    expect((await site.call("lamp", "fail")).body["result"]).toMatchObject({ isError: true });
    expect((await site.call("lamp", "error")).body).toMatchObject({
      code: "device_error",
      detail: expect.stringContaining("the bulb is missing"),
    });
    expect((await site.call("lamp", "lamp.set", { on: 1 })).body).toMatchObject({
      code: "arguments_invalid",
    });
    // The stream of changes of the newer era has a name instead of a number.
    const ids = server.ids.filter((id) => !String(id).startsWith("listen:"));
    expect(ids.filter((id) => typeof id !== "number")).toEqual([]);
  });

  it("[HTD-3] fails a call at its deadline, and goes on with the next", async () => {
    const server = await openServer({ kind });
    const site = await siteWith(server);
    await online(site);
    expect((await site.call("lamp", "wait", {}, { timeoutMs: 100 })).body).toMatchObject({
      code: "device_timeout",
      phase: "device",
    });
    if (kind !== "espressif") await until(() => server.tools.cancelled === 1, "the cancellation");
    expect(textOf((await site.call("lamp", "echo", { text: "next" })).body)).toBe("next");
  });
});

describe("the setting devices.http[].timeoutMs", () => {
  const open = async (timeoutMs: number, defaultMs: number) => {
    const server = await openServer({ faults: ["slow"] });
    const http = [{ alias: "lamp", url: server.url, timeoutMs }];
    const site = await openSite({ config: { devices: { http }, calls: { timeoutMs: defaultMs } } });
    await online(site);
    return site;
  };
  const echo = async (site: Site, options = {}) =>
    (await site.call("lamp", "echo", { text: "a" }, options)).status;

  it("[HTD-3] is the deadline of calls that name none, longer than that of other devices", async () => {
    const site = await open(10_000, 100);
    expect([await echo(site), await echo(site, { timeoutMs: 100 })]).toEqual([200, 504]);
  });

  it("[HTD-3] is the deadline of calls that name none, or shorter", async () => {
    const site = await open(100, 30_000);
    expect([await echo(site), await echo(site, { timeoutMs: 10_000 })]).toEqual([504, 200]);
  });

  it("[HTD-3] is at most five minutes", async () => {
    const http = [{ alias: "lamp", url: "http://127.0.0.1:1/mcp", timeoutMs: 300_001 }];
    await expect(openSite({ config: { devices: { http } } })).rejects.toThrow("timeoutMs");
  });
});

describe("an MCP server over HTTP of the newer era", () => {
  it("[HTD-1] gets the arguments that it wants as headers too, and agents see none of it", async () => {
    const site = await siteWith(await openServer({ kind: "modern" }));
    await online(site);
    const route = async (region: string) => textOf((await site.call("lamp", "route", { region })).body);
    expect(await route("north")).toBe("north");
    expect(await route("nørth")).toBe(`=?base64?${Buffer.from("nørth").toString("base64")}?=`);
    const { body } = await site.rest("GET", "/devices/lamp/tools");
    const schemas = (body["tools"] as { inputSchema: object }[]).map(({ inputSchema }) => inputSchema);
    expect(JSON.stringify(schemas)).not.toContain("x-mcp-header");
  });
});

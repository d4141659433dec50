/** [HTD-2] Whether an MCP server over HTTP is there, and what it offers. */
import { once } from "node:events";
import net from "node:net";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { openAgent } from "../mcp/agent.ts";
import { online, openServer, siteWith, textOf } from "./servers.ts";

describe("an MCP server over HTTP", () => {
  it("[HTD-2] is offline when it stops, and online again when it is back", async () => {
    const server = await openServer();
    const site = await siteWith(server);
    await online(site);
    const { port } = server;
    await server.stop();
    await online(site, "lamp", false);
    expect((await site.call("lamp", "echo", { text: "a" })).body).toMatchObject({ code: "device_offline" });
    await openServer({ port });
    await online(site);
    expect(textOf((await site.call("lamp", "echo", { text: "a" })).body)).toBe("a");
  });

  it.each([
    ["ping", []],
    ["tools/list", ["no-ping"]],
  ])("[HTD-2] is probed with %s", async (method, faults) => {
    const asked: string[] = [];
    const server = await openServer({ faults, onRequest: ({ method }) => void asked.push(method) });
    const clock = new ManualClock();
    const site = await siteWith(server, { clock });
    await online(site);
    asked.length = 0;
    await until(() => {
      clock.advance(1_000);
      return asked.at(-1) === method;
    }, method);
    expect((await site.device("lamp"))["online"]).toBe(true);
  });

  it("[HTD-2] is offline after two probes without an answer", async () => {
    const server = await openServer({ faults: ["no-stream"] });
    const clock = new ManualClock();
    const site = await siteWith(server, { clock });
    await online(site);
    server.hangs = true;
    const from = clock.monotonic();
    await until(async () => {
      clock.advance(1_000);
      return (await site.device("lamp"))["online"] === false;
    }, "the end");
    expect(clock.monotonic() - from).toBeLessThan(70_000);
    expect(await site.device("lamp")).toMatchObject({
      lastDisconnect: { reason: expect.stringContaining("does not answer") },
    });
  });

  it("keeps a changed tool in quarantine until it is accepted", async () => {
    const server = await openServer();
    const site = await siteWith(server, { config: { access: { quarantine: true } } });
    await online(site);
    await site.call("lamp", "change");
    await until(async () => {
      const { body } = await site.call("lamp", "echo", { text: "a" });
      return body["code"] === "forbidden";
    }, "the quarantine");
    expect((await site.rest("GET", "/devices/lamp/changes")).body).toMatchObject({
      changes: [{ tool: "echo", what: ["description"], quarantined: true }],
    });
  });

  it("[HTD-2] never delays the start", async () => {
    // It accepts connections and never answers.
    const silent = net.createServer((socket) => void socket.on("error", () => undefined));
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const { port } = silent.address() as net.AddressInfo;
    const site = await siteWith({ url: `http://127.0.0.1:${port}/mcp` });
    expect(await site.device("lamp")).toMatchObject({ online: false, kind: "http" });
    silent.close();
  });

  it.each(["sessions", "modern"] as const)("[HTD-6] reports changes of its tools (%s)", async (kind) => {
    const server = await openServer({ kind });
    const site = await siteWith(server);
    await online(site);
    await site.call("lamp", "grow");
    await until(async () => (await site.toolNames("lamp")).includes("extra_1"), "the new tool");
  });

  it.each(["sessions", "modern"] as const)(
    "[HTD-1] passes progress and questions on to its caller (%s)",
    async (kind) => {
      const server = await openServer({ kind });
      const site = await siteWith(server);
      await online(site);
      const at = "/mcp/devices/lamp";
      const agent = await openAgent(site, "legacy", { at, capabilities: { elicitation: { form: {} } } });
      agent.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }));
      expect(await agent.callTool({ name: "ask" })).toMatchObject({ content: [{ text: "accept Ada" }] });
      const seen: number[] = [];
      const onprogress = ({ progress }: { progress: number }) => void seen.push(progress);
      await agent.callTool({ name: "count", arguments: { to: 3 } }, { onprogress });
      expect(seen).toEqual([1, 2, 3]);
    },
  );
});

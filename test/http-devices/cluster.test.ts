/** [HTD-7] MCP servers over HTTP in a cluster: one node holds each, every node can use it, another one takes over. */
import { describe, expect, it } from "vitest";
import { Engines } from "../cluster/nodes.ts";
import { until } from "../inbox.ts";
import { openAgent } from "../mcp/agent.ts";
import type { Site } from "../site.ts";
import { online, openServer, textOf } from "./servers.ts";

describe("an MCP server over HTTP in a cluster of three", () => {
  const engines = new Engines();

  it("[HTD-7] is held by one node, used from all, and taken over", async () => {
    const server = await openServer();
    const added = await openServer({ kind: "modern" });
    const fleet = await engines.newFleet();
    const http = [{ alias: "lamp", url: server.url }];
    const sites = (await fleet.nodes(3, { config: { devices: { http } } })) as [Site, Site, Site];
    const [one, two, three] = sites;
    for (const site of sites) {
      await online(site);
      await until(async () => (await site.toolNames("lamp")).includes("echo"), "its tools");
      expect(textOf((await site.call("lamp", "echo", { text: "a" })).body)).toBe("a");
    }
    expect(server.sessionsOpened).toBe(1);
    await two.rest("POST", "/devices/http", { alias: "added", url: added.url, timeoutMs: 200 });
    for (const site of sites) {
      await online(site, "added");
      // A node reads the tools when the one that holds the device has stored them.
      await until(async () => (await site.toolNames("added")).includes("ask"), "its tools");
    }
    expect((await one.device("added"))["kind"]).toBe("http");
    for (const site of sites)
      expect((await site.call("added", "wait")).body).toMatchObject({ code: "device_timeout" });
    const agent = await openAgent(three, "legacy", {
      at: "/mcp/devices/added",
      capabilities: { elicitation: { form: {} } },
    });
    agent.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }));
    expect(await agent.callTool({ name: "ask" })).toMatchObject({ content: [{ text: "accept Ada" }] });
    await agent.close();

    const { node } = (await one.device("lamp")) as { node: string };
    const owner = await ownerOf(sites, "lamp");
    expect(node).not.toBe("");
    await owner.tendon.stop();
    const others = sites.filter((site) => site !== owner);
    for (const site of others)
      await until(async () => {
        const { status, body } = await site.call("lamp", "echo", { text: "b" });
        return status === 200 && textOf(body) === "b";
      }, "the takeover");
    const [first] = others;
    await first?.rest("DELETE", "/devices/added");
    for (const site of others)
      await until(async () => (await site.rest("GET", "/devices/added")).status === 404, "the deletion");
  });
});

/** The gateway that holds the connection counts it among its own. */
async function ownerOf(sites: readonly Site[], alias: string): Promise<Site> {
  for (const site of sites) {
    const { text } = await site.rest("GET", `/devices/${alias}`);
    if (text.includes(alias) && (await site.metric("tendon_devices_online")) > 0) return site;
  }
  throw new TypeError("no node holds it");
}

/** Requests that reach the wrong node: MCP sessions, photo uploads, jobs. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { data, run, tokenWith } from "../functions.ts";
import { until } from "../inbox.ts";
import { openAgent } from "../mcp/agent.ts";
import { textContent, tool } from "../raw-device.ts";
import { adminToken, firstDevice, type Site } from "../site.ts";
import { Engines } from "./nodes.ts";

const engines = new Engines();

async function twoNodes(): Promise<[Site, Site]> {
  const [one, two] = await (await engines.newFleet()).nodes(2);
  if (one === undefined || two === undefined) throw new TypeError("two nodes were asked for");
  return [one, two];
}

/** Sends each request to the other node, as a load balancer without sticky sessions does. */
function inTurn(sites: readonly Site[]): typeof fetch {
  let turn = 0;
  return async (input, init) => {
    const asked = new URL(input instanceof Request ? input.url : input);
    const site = sites[turn % sites.length];
    turn += 1;
    return await fetch(new URL(`${asked.pathname}${asked.search}`, site?.url), init);
  };
}

describe("a session of an MCP client of the older era", () => {
  it("works on every node, with streams and notifications", async () => {
    const [one, two] = await twoNodes();
    const device = await one.join({ tools: [tool("self.ring")] });
    await until(async () => (await two.device(firstDevice))["toolCount"] === 1);
    const client = new Client(
      { name: "older", version: "1" },
      {
        versionNegotiation: { mode: "legacy" },
        listChanged: { tools: { onChanged: () => changes.push(1) } },
      },
    );
    const changes: number[] = [];
    const transport = new StreamableHTTPClientTransport(new URL("/mcp", one.url), {
      fetch: inTurn([one, two]),
      requestInit: { headers: { authorization: `Bearer ${adminToken}` } },
    });
    await client.connect(transport);
    onTestFinished(() => client.close());
    for (let number = 0; number < 4; number += 1) {
      const calling = client.callTool({ name: "raw-board-0001__ring", arguments: {} });
      const { id } = await device.nextRequest("tools/call");
      device.reply(id, textContent(`rung ${number}`));
      expect((await calling).content).toEqual([{ type: "text", text: `rung ${number}` }]);
    }
    const second = await two.join({ deviceId: "02:00:00:00:00:02", tools: [tool("self.bell")] });
    await until(() => changes.length > 0, "news of another tool");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("raw-board-0002__bell");
    second.cut();
  });
});

describe("a photo or a screenshot", () => {
  it("[CAM-1] [CAM-4] that is uploaded to another node is in the result of its call", async () => {
    const fleet = await engines.newFleet();
    const two = await fleet.node();
    const one = await fleet.node({ config: { http: { publicUrl: two.url } } });
    const mac = "02:00:00:00:00:07";
    const clientId = "77777777-7777-4777-8777-777777777777";
    const { websocket } = one.tendon.provision(mac, clientId);
    const here = `${one.url.replace("http", "ws")}/xiaozhi/v1/`;
    const board = new VirtualDevice({
      board: { mac, clientId, name: "camera-board" },
      url: here,
      token: websocket.token,
    });
    onTestFinished(() => board.stop());
    await board.connect();
    await until(async () => (await two.device(mac))["toolsComplete"] === true, "its tools on the other node");
    for (const [site, tool, args] of [
      [one, "self.camera.take_photo", { question: "What is this?" }],
      [two, "self.camera.take_photo", { question: "What is this?" }],
      [one, "self.screen.snapshot", {}],
      [two, "self.screen.snapshot", {}],
    ] as const) {
      const { status, body } = await site.call(mac, tool, args);
      const { content } = body["result"] as unknown as { content: { type: string }[] };
      expect([status, content.map(({ type }) => type)]).toEqual([200, ["text", "image"]]);
    }
  });
});

describe("credentials", () => {
  it("that one node issued are valid on every node, and are revoked on all", async () => {
    const [one, two] = await twoNodes();
    const clientId = "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a02";
    const { websocket } = one.tendon.provision(firstDevice, clientId);
    await until(
      async () => (await two.rest("GET", `/devices/${firstDevice}`)).status === 200,
      "the device on the other node",
    );
    const device = await two.join({ clientId, token: websocket.token, tools: [tool("a")] });
    await one.rest("POST", `/devices/${firstDevice}/revoke`);
    await device.wire.ended;
    await expect(two.join({ clientId, token: websocket.token })).rejects.toThrow();
  });
});

describe("a job", () => {
  it("that another node runs can be read by its own agents on every node", async () => {
    const [one, two] = await twoNodes();
    const devices = Array.from({ length: 501 }, (_, number) => `nobody-${number}`);
    const { body } = await one.rest("POST", "/calls", { target: { devices }, tool: "ring" });
    const job = String(body["job"]);
    for (const site of [one, two]) {
      const done = await until(async () => {
        const now = await data(site, "fleet_call", { job });
        return now["state"] === "done" ? now : undefined;
      });
      expect(done).toMatchObject({ job, total: 501, ok: 0, failed: 501, failedBy: { device_unknown: 501 } });
    }
    const whole = await two.rest("GET", `/jobs/${job}`);
    expect([whole.status, (whole.body["results"] as unknown[]).length]).toEqual([200, 501]);
    const agent = await openAgent(two, "modern");
    const read = await agent.callTool({ name: "fleet_call", arguments: { job } });
    expect(read.structuredContent).toMatchObject({ job, state: "done", total: 501 });
    const stranger = await tokenWith(two, ["read", "call"]);
    for (const unknown of [job, `${job}x`, job.replace(/_[0-9a-f]{8}/, "_00000000")]) {
      const refused = await run(two, "fleet_call", { job: unknown }, stranger);
      expect([refused.status, refused.body["code"]]).toEqual([404, "not_found"]);
    }
  });
});

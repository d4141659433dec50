/** What one node issued works on the others from the first second, as behind a load balancer without stickiness. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresServer } from "../../packages/gateway/test/store/postgres-server.ts";
import { type Answer, askAll } from "../http-client.ts";
import { tool } from "../raw-device.ts";
import { adminToken, type Site } from "../site.ts";
import { webSocketTransport } from "../websocket-wire.ts";
import { Engines } from "./nodes.ts";
import { fleet } from "./process-fleet.ts";
import { clusterToken, type ProcessNode } from "./process-node.ts";

const engines = new Engines();
let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(async () => {
  await postgres.remove();
});

async function signIn(url: string, secret: string): Promise<Answer> {
  return await askAll(url, {
    method: "POST",
    path: "/api/v1/session",
    headers: { origin: url, "x-tendon-console": "1", "content-type": "application/json" },
    body: JSON.stringify({ secret }),
  });
}

describe("a code of the console", () => {
  it("[CON-2] that one node made signs in on another one, and once on all of them", async () => {
    const { nodes } = await fleet(postgres, 3);
    const [one, ...others] = nodes as [ProcessNode, ProcessNode, ProcessNode];
    for (const node of [...others, one]) {
      const { code } = await one.rest("POST", "/session/codes").then(({ body }) => body);
      const answers = await Promise.all([node, ...others].map(({ url }) => signIn(url, String(code))));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401]);
    }
  }, 60_000);
});

describe("credentials that one node has just issued", () => {
  const clientId = "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a02";
  const idOf = (number: number) => `02:00:00:00:02:${number.toString(16).padStart(2, "0")}`;

  it("admit boards on another node that has not read them yet", async () => {
    const { nodes } = await fleet(postgres, 2, { TENDON_DEVICES_ADMISSION: "approve" });
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    const boards = Array.from({ length: 30 }, (_, number) => idOf(number));
    // The other node gets the news of all of them at once, when it resumes.
    two.freeze();
    const tokens = await Promise.all(
      boards.map(async (id) => {
        const { body } = await one.rest("POST", "/devices/provision", { id, clientId });
        return (body["websocket"] as { token: string }).token;
      }),
    );
    const connecting = boards.map(async (deviceId, at) => {
      const wire = await webSocketTransport.connect(two.url, { deviceId, clientId, token: tokens[at] });
      wire.cut();
    });
    two.thaw();
    await Promise.all(connecting);
    const wrong = { deviceId: idOf(200), clientId, token: "wrong" };
    await expect(webSocketTransport.connect(two.url, wrong)).rejects.toThrow("403");
  }, 60_000);

  it("[OTA-2] are the same when the board asks the next node again", async () => {
    const shared = await engines.newFleet();
    const sites = (await shared.nodes(2, { config: { devices: { admission: "open" } } })) as [Site, Site];
    const ask = async (site: Site, deviceId: string) =>
      await askAll(site.url, {
        method: "POST",
        path: "/xiaozhi/ota/",
        headers: { "device-id": deviceId, "client-id": clientId, "content-type": "application/json" },
        body: "{}",
      });
    for (let number = 0; number < 10; number += 1) {
      const [first, second] = [await ask(sites[0], idOf(number)), await ask(sites[1], idOf(number))];
      const { client_id: id, password } = first.body["mqtt"] as { client_id: string; password: string };
      expect(second.body["mqtt"]).toMatchObject({ client_id: id, password });
    }
  });
});

/** The older era of MCP has sessions, which belong to one node. */
async function openMcpSession(url: string, token: string): Promise<string> {
  const opened = await mcp(url, token, {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "older", version: "1" } },
  });
  return String(opened.headers["mcp-session-id"]);
}

async function mcp(url: string, token: string, body: unknown, session?: string): Promise<Answer> {
  return await askAll(url, {
    method: "POST",
    path: "/mcp",
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      ...(session === undefined ? {} : { "mcp-session-id": session }),
    },
    body: JSON.stringify(body),
  });
}

const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };

describe("a request to a node's own address", () => {
  it("is answered by the node that it belongs to, under an address that this node does not have", async () => {
    const shared = await engines.newFleet();
    const one = await shared.node({ config: { http: { host: "127.0.0.2" } } });
    const two = await shared.node({ config: { http: { host: "127.0.0.3" } } });
    await one.join({ tools: [tool("self.ring")] });
    const session = await openMcpSession(one.url, adminToken);
    expect((await mcp(two.url, adminToken, list, session)).status).toBe(200);
    // Only what another node has forwarded: the header alone does not skip the check of Host.
    const headers = { host: "elsewhere.example", "x-tendon-node": one.url };
    expect((await askAll(two.url, { path: "/api/v1/nodes", headers })).status).toBe(403);
  });
});

describe("an MCP session of a node that was killed", () => {
  it("is unknown on the others at once, so that its client opens another one", async () => {
    const { nodes } = await fleet(postgres, 2);
    const [one, two] = nodes as [ProcessNode, ProcessNode];
    const session = await openMcpSession(one.url, clusterToken);
    expect((await mcp(two.url, clusterToken, list, session)).status).toBe(200);
    await one.kill();
    const killedAt = performance.now();
    expect((await mcp(two.url, clusterToken, list, session)).status).toBe(404);
    // Well before the others would miss its heartbeats, also on a slow machine.
    expect(performance.now() - killedAt).toBeLessThan(8_000);
  }, 60_000);
});

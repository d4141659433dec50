/** What one node of a cluster holds, after its process was killed or frozen: MCP servers over HTTP and endpoints. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresServer } from "../../packages/gateway/test/store/postgres-server.ts";
import { Broker, callFrame, type FrameSocket, hosted } from "../endpoint/frames.ts";
import { openServer, textOf } from "../http-devices/servers.ts";
import { until } from "../inbox.ts";
import type { Fields } from "../raw-device.ts";
import { fleet } from "./process-fleet.ts";
import type { ProcessNode } from "./process-node.ts";

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(async () => {
  await postgres.remove();
});

async function nodes(settings: Record<string, string>): Promise<[ProcessNode, ProcessNode]> {
  return (await fleet(postgres, 2, settings)).nodes as [ProcessNode, ProcessNode];
}

async function nodesWith(url: string): Promise<[ProcessNode, ProcessNode]> {
  const both = await nodes({});
  expect((await both[0].rest("POST", "/devices/http", { alias: "lamp", url })).status).toBe(201);
  return both;
}

async function echoes(node: ProcessNode): Promise<void> {
  await until(async () => {
    const { status, body } = await node.rest("POST", "/devices/lamp/tools/echo/call", {
      arguments: { text: "a" },
    });
    return status === 200 && textOf(body) === "a";
  }, "an answer of the server");
}

/** The nodes that hold the server: each counts its own connections. */
async function holdersOf(all: readonly ProcessNode[]): Promise<ProcessNode[]> {
  const held = await Promise.all(all.map((node) => node.metric("tendon_devices_online")));
  return all.filter((_node, at) => held[at] === 1);
}

async function theHolder(
  all: readonly [ProcessNode, ProcessNode],
): Promise<readonly [ProcessNode, ProcessNode]> {
  const [holder] = await until(async () => {
    const found = await holdersOf(all);
    return found.length === 1 && found;
  }, "one holder");
  return holder === all[0] ? [all[0], all[1]] : [all[1], all[0]];
}

describe("an MCP server over HTTP", () => {
  it("[HTD-7] is held and used by the other node after its node was killed", async () => {
    const server = await openServer();
    const [holder, other] = await theHolder(await nodesWith(server.url));
    await echoes(other);
    expect(server.sessionsOpened).toBe(1);
    await holder.kill();
    await other.sees(1);
    await until(async () => (await holdersOf([other])).length === 1, "the takeover");
    await echoes(other);
    expect(server.sessionsOpened).toBe(2);
  }, 60_000);

  it("[HTD-7] is given up by a node that was frozen, and resumes after another took it over", async () => {
    const server = await openServer();
    const both = await nodesWith(server.url);
    const [holder, other] = await theHolder(both);
    await echoes(other);
    holder.freeze();
    await other.sees(1);
    await until(async () => (await holdersOf([other])).length === 1, "the takeover");
    await echoes(other);
    expect(server.sessionsOpened).toBe(2);
    holder.thaw();
    await until(async () => (await holdersOf([holder])).length === 0, "the frozen node to give up");
    for (const node of both) await echoes(node);
    expect(await holdersOf(both)).toEqual([other]);
    expect(server.sessionsOpened).toBe(2);
  }, 60_000);
});

describe("an outgoing endpoint", () => {
  async function open() {
    const broker = await Broker.open();
    const endpoints = [{ url: broker.url("a-token-of-the-agent"), token: "voice" }];
    const both = await nodes({ TENDON_AGENTS_ENDPOINTS: JSON.stringify(endpoints) });
    await both[0].rest("POST", "/tokens", { name: "voice", scopes: ["read", "call"] });
    const peer = await broker.arrival();
    await serves(peer);
    const held = async (node: ProcessNode) =>
      (((await node.get("/endpoints"))["endpoints"] as Fields[]) ?? []).map(({ state }) => state);
    return { broker, both, peer, held };
  }

  async function serves(peer: FrameSocket): Promise<void> {
    expect(await peer.ask(hosted.initialize)).toMatchObject({ id: 0, result: {} });
    peer.send(hosted.initialized);
    const { result } = await peer.ask(callFrame(7, "devices_list"));
    expect(result).toMatchObject({ isError: false });
  }

  it("[END-8] is dialled and served by the other node after its node was killed", async () => {
    const { broker, both, peer, held } = await open();
    await until(async () => (await held(both[0])).length === 1 && (await held(both[1])).length === 1);
    const ends = peer.closed();
    const [holder, other] = await holderOfEndpoint(both);
    await holder.kill();
    await other.sees(1);
    await ends;
    await serves(await broker.arrival());
    expect(await held(other)).toEqual(["connected"]);
    expect(broker.open).toBe(1);
  }, 60_000);

  it("[END-8] is given up by a node that was frozen, and resumes after another took it over", async () => {
    const { broker, both, peer, held } = await open();
    const [holder, other] = await holderOfEndpoint(both);
    holder.freeze();
    await other.sees(1);
    const next = await broker.arrival();
    await serves(next);
    expect(broker.open).toBe(2);
    holder.thaw();
    expect(await peer.closed()).toEqual({ code: 1000, reason: "the gateway leaves" });
    expect(await next.ask(hosted.ping)).toEqual({ jsonrpc: "2.0", id: 2, result: {} });
    for (const node of [holder, other])
      await until(async () => (await held(node)).join() === "connected", "one endpoint");
    expect(broker.open).toBe(1);
  }, 60_000);

  async function holderOfEndpoint(
    both: readonly [ProcessNode, ProcessNode],
  ): Promise<readonly [ProcessNode, ProcessNode]> {
    const holds = await Promise.all(both.map((node) => node.metric('tendon_endpoints{state="connected"}')));
    return holds[0] === 1 ? [both[0], both[1]] : [both[1], both[0]];
  }
});

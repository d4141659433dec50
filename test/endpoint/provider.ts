/** A tool provider in tests: an MCP server behind a WebSocket, whose frames are sent and taken one by one. */
import { expect } from "vitest";
import { until } from "../inbox.ts";
import { type Fields, tool } from "../raw-device.ts";
import type { Site } from "../site.ts";
import { dial, type FrameSocket } from "./frames.ts";

const all = ["endpoint", "read", "call"];

export async function makeToken(
  site: Site,
  name = "house",
  scopes: readonly string[] = all,
  more: Fields = {},
): Promise<string> {
  const { status, body } = await site.rest("POST", "/tokens", { name, scopes, ...more });
  expect(status).toBe(201);
  return String(body["token"]);
}

export const providerUrl = (site: Site, token: string) => `${site.url}/mcp_endpoint/mcp/?token=${token}`;

/** Plays a provider's MCP server, with a newline after each frame, until it has listed its tools. */
export async function provide(
  site: Site,
  token: string,
  name: string,
  tools: readonly Fields[] = [tool("add")],
  capabilities: Fields = { tools: {} },
): Promise<FrameSocket> {
  const peer = await dial(providerUrl(site, token));
  const initialize = await peer.next();
  expect(initialize).toMatchObject({ method: "initialize", params: { protocolVersion: "2025-11-25" } });
  peer.send("INFO:     Started server process [7]\n");
  answer(peer, initialize, {
    protocolVersion: "2024-11-05",
    capabilities,
    serverInfo: { name, version: "1" },
  });
  expect(await peer.next()).toMatchObject({ method: "notifications/initialized" });
  answer(peer, await peer.next(), { tools });
  return peer;
}

export function answer(peer: FrameSocket, { id }: Fields, result: Fields): void {
  peer.send(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}

export async function online(site: Site, device: string): Promise<Fields> {
  return await until(async () => {
    const found = await site.device(device);
    return found["online"] === true && found;
  }, `${device} online`);
}

/** Standard MCP servers that ask questions, each as a device of one gateway, and agents that call them. */
import path from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { expect } from "vitest";
import type { StartPrograms } from "../cluster/nodes.ts";
import type { Json } from "../http-client.ts";
import { type Site, type SiteOptions, startSite } from "../site.ts";
import { type AgentOptions, type Era, openAgent } from "./agent.ts";
import { modern, say } from "./rpc.ts";

const program = path.join(import.meta.dirname, "..", "programs", "asking.mjs");
export const everything = { elicitation: { form: {} }, sampling: {}, roots: {} };

/** The protocol version of each server, by alias. */
type Servers = Readonly<Record<string, "old" | "new">>;

export async function startAsking(
  servers: Servers,
  options: SiteOptions = {},
  start: StartPrograms = startSite,
): Promise<Site> {
  const stdio = Object.entries(servers).map(([alias, era]) => ({
    alias,
    command: process.execPath,
    args: [program, era],
    protocol: "mcp" as const,
  }));
  const { config, ...rest } = options;
  const site = await start({ ...rest, config: { ...config, devices: { ...config?.devices, stdio } } });
  for (const [alias, era] of Object.entries(servers)) {
    await site.listed(alias);
    const { protocolVersion } = await site.device(alias);
    expect(protocolVersion).toBe(era === "old" ? "2025-11-25" : "2026-07-28");
  }
  return site;
}

export async function agentOf(
  site: Site,
  era: Era,
  alias: string,
  options: AgentOptions = {},
): Promise<Client> {
  return await openAgent(site, era, { at: `/mcp/devices/${alias}`, capabilities: everything, ...options });
}

/** The results of questions that an older server asked outside calls, and the number of cancelled calls. */
export async function heardBy(site: Site, alias: string): Promise<{ heard: string[]; givenUp: number }> {
  const { body } = await site.call(alias, "heard");
  const { structuredContent } = body["result"] as { structuredContent: { heard: string[]; givenUp: number } };
  return structuredContent;
}

export interface Round {
  readonly result?: {
    readonly resultType: string;
    readonly requestState?: string;
    readonly inputRequests?: Record<string, { method: string; params: { message: string } }>;
    readonly content?: { text: string }[];
  };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Json };
}

/** One round of a call by an agent without sessions, by hand. */
export async function round(
  site: Site,
  alias: string,
  tool: string,
  given: {
    state?: string | undefined;
    answers?: object;
    capabilities?: object;
    token?: string;
    signal?: AbortSignal;
  } = {},
): Promise<Round> {
  const { state, answers, capabilities = everything, token, signal } = given;
  const said = modern("tools/call", {
    name: tool,
    arguments: {},
    ...(state === undefined ? {} : { requestState: state }),
    ...(answers === undefined ? {} : { inputResponses: answers }),
  });
  const { params } = said.body as { params: { _meta: Record<string, unknown> } };
  params._meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
  const answer = await say(site, {
    ...said,
    at: `/mcp/devices/${alias}`,
    ...(token === undefined ? {} : { token }),
    ...(signal === undefined ? {} : { signal }),
  });
  return answer.body as Round;
}

export const named = (name: string) => ({ action: "accept", content: { name } });

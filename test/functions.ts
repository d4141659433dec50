/** The fleet's tools for an agent without MCP. */

import { unusedName } from "./access/tokens.ts";
import type { Answer, Json } from "./http-client.ts";
import type { Fields } from "./raw-device.ts";
import type { Site } from "./site.ts";

/** The tools that are always listed. */
export const ours = [
  "devices_list",
  "tools_search",
  "tool_describe",
  "device_call",
  "device_state",
  "fleet_call",
  "events_wait",
];

/** The names of the device tools that a token sees. */
export async function shown(site: Site, token?: string): Promise<string[]> {
  const { body } = await site.rest("GET", "/tools.anthropic.json", undefined, bearer(token));
  return (body["tools"] as { name: string }[]).map(({ name }) => name).filter((name) => !ours.includes(name));
}

export async function run(site: Site, name: string, args: Fields = {}, token?: string): Promise<Answer> {
  return await site.rest("POST", "/function-call", { name, arguments: args }, bearer(token));
}

/** The structured content of a function's result. */
export async function data(site: Site, name: string, args: Fields = {}): Promise<{ [key: string]: Json }> {
  const { body } = await run(site, name, args);
  return (body["result"] as { structuredContent: { [key: string]: Json } }).structuredContent;
}

export async function tokenWith(site: Site, scopes: readonly string[], devices?: object): Promise<string> {
  const { body } = await site.rest("POST", "/tokens", { name: unusedName(site, "agent"), scopes, devices });
  return body["token"] as string;
}

function bearer(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

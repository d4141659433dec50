/** An agent: the official client with the requested protocol version. It is closed at the end of its test. */
import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import { Inbox } from "../inbox.ts";
import { adminToken, type Site } from "../site.ts";

export type Era = "modern" | "legacy";
export const eras: readonly Era[] = ["modern", "legacy"];

export interface AgentOptions extends ClientOptions {
  readonly at?: string;
  readonly token?: string;
}

export async function openAgent(site: Site, era: Era, options: AgentOptions = {}): Promise<Client> {
  const { at = "/mcp", token = adminToken, ...client } = options;
  const agent = new Client(
    { name: "test", version: "1" },
    { versionNegotiation: { mode: era === "modern" ? "auto" : "legacy" }, ...client },
  );
  onTestFinished(() => agent.close());
  const transport = new StreamableHTTPClientTransport(new URL(at, site.url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await agent.connect(transport);
  return agent;
}

/** The text of a result with only text. */
export function textOf(result: { readonly content?: unknown }): string {
  const [only] = result.content as { readonly type: string; readonly text: string }[];
  return only?.text ?? "";
}

/** Subscribes to resources in the way of the protocol version, and returns the notifications. */
export async function watchResources(agent: Client, era: Era, uris: string[]): Promise<Inbox<string>> {
  const told = new Inbox<string>("update of a resource");
  agent.setNotificationHandler("notifications/resources/updated", ({ params }) => told.put(params.uri));
  if (era === "modern") await agent.listen({ resourceSubscriptions: uris });
  else for (const uri of uris) await agent.subscribeResource({ uri });
  return told;
}

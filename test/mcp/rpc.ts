/** Raw MCP requests, for behaviour that no official client has. */
import { type Answer, ask, askAll, asObject, type Json } from "../http-client.ts";
import { adminToken, type Site } from "../site.ts";

export interface Said {
  readonly at?: string;
  readonly method?: string;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

const accept = "application/json, text/event-stream";

function question({ at = "/mcp", method = "POST", token = adminToken, headers = {}, body, signal }: Said) {
  return {
    method,
    path: at,
    headers: {
      accept,
      "content-type": "application/json",
      ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof body === "string" || body === undefined ? body : JSON.stringify(body),
    signal,
  };
}

export async function say(site: Pick<Site, "url">, said: Said): Promise<Answer> {
  return await askAll(site.url, question(said));
}

/** An open stream; `messages` reads it. */
export async function listen(site: Site, said: Said) {
  return await ask(site.url, question(said));
}

/** The JSON-RPC messages of an event stream. */
export function messagesOf(text: string): { [key: string]: Json }[] {
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data = ""]) => asObject(data));
}

export function initialize(version = "2025-11-25"): object {
  return {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: version, capabilities: {}, clientInfo: { name: "by-hand", version: "1" } },
  };
}

/** Opens a session and returns its id. */
export async function openSession(site: Site, said: Said = {}): Promise<string> {
  const { headers } = await say(site, { ...said, body: initialize() });
  const id = headers["mcp-session-id"];
  if (typeof id !== "string") throw new NoSession("no session was opened");
  await say(site, {
    ...said,
    headers: { "mcp-session-id": id },
    body: { jsonrpc: "2.0", method: "notifications/initialized" },
  });
  return id;
}

/** Repeats an operation many times, several at once. */
export async function openMany<Opened>(count: number, open: () => Promise<Opened>): Promise<Opened[]> {
  const opened: Opened[] = [];
  while (opened.length < count) {
    const some = Math.min(25, count - opened.length);
    opened.push(...(await Promise.all(Array.from({ length: some }, open))));
  }
  return opened;
}

class NoSession extends Error {
  override readonly name = "NoSession";
}

const modernVersion = "2026-07-28";

interface ModernOptions {
  readonly token?: string;
  readonly capabilities?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The reply to a request of the newer era with these capabilities. */
export async function askModern(
  site: Pick<Site, "url">,
  method: string,
  params: Record<string, unknown>,
  { token, capabilities = {}, headers = {} }: ModernOptions = {},
): Promise<{ [key: string]: Json }> {
  const said = modern(method, params);
  const body = said.body as { params: { _meta: Record<string, unknown> } };
  body.params._meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
  const { taskId } = params;
  const named = typeof taskId === "string" ? { "mcp-name": taskId } : {};
  const reply = await say(site, { ...said, token, headers: { ...said.headers, ...named, ...headers } });
  return reply.text.startsWith("{") ? asObject(reply.text) : (messagesOf(reply.text)[0] ?? {});
}

/** A request without a session, with its required fields. */
export function modern(method: string, params: Record<string, unknown> = {}, id = 1): Said {
  const name = params["name"] ?? params["uri"];
  return {
    headers: {
      "mcp-protocol-version": modernVersion,
      "mcp-method": method,
      ...(typeof name === "string" ? { "mcp-name": name } : {}),
    },
    body: {
      jsonrpc: "2.0",
      id,
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": modernVersion,
          "io.modelcontextprotocol/clientCapabilities": {},
          "io.modelcontextprotocol/clientInfo": { name: "by-hand", version: "1" },
        },
      },
    },
  };
}

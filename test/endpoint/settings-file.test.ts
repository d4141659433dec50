/**
 * The guide's `mcp_server_settings.json` of a self-hosted xiaozhi-esp32-server, used as that server's client uses it: it opens
 * each address as streamable-http with the headers of the file and no others, in the older era, lists the tools once, calls
 * them, and ends its session. Requests here have the shape of Python's `mcp` 1.x, which numbers from 0.
 */
import type { IncomingMessage } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { readPage } from "../guides/page.ts";
import { ask, askAll, asObject } from "../http-client.ts";
import { until } from "../inbox.ts";
import { messagesOf } from "../mcp/rpc.ts";
import { type Fields, type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";

interface Server {
  readonly transport: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const placeholder = "tdn_…";

/** The server named `tendon` in the guide's file, with the address and the token of this gateway in place of the example's. */
async function serverOfGuide(site: Site): Promise<Server> {
  const [block] = readPage("docs/guides/voice-agents.md").filter(({ language }) => language === "json");
  const file = JSON.parse(block?.text ?? "") as { mcpServers: Record<string, Server> };
  expect(Object.keys(file)).toEqual(["mcpServers"]);
  const { tendon } = file.mcpServers;
  expect(Object.keys(tendon ?? {})).toEqual(["transport", "url", "headers"]);
  expect(tendon?.transport).toBe("streamable-http");
  const { body } = await site.rest("POST", "/tokens", { name: "xiaozhi-server", scopes: ["read", "call"] });
  const { pathname } = new URL(tendon?.url ?? "");
  expect(pathname).toBe("/mcp/compact");
  const headers = Object.entries(tendon?.headers ?? {}).map(([name, value]) => {
    expect(value).toContain(placeholder);
    return [name, value.replace(placeholder, String(body["token"]))];
  });
  return {
    transport: "streamable-http",
    url: new URL(pathname, site.url).href,
    headers: Object.fromEntries(headers) as Record<string, string>,
  };
}

async function opened(): Promise<{ site: Site; device: RawDevice; server: Server }> {
  const site = await openSite();
  const device = await site.join({ tools: [tool("self.lamp.on")] });
  return { site, device, server: await serverOfGuide(site) };
}

const lampOn = (device: RawDevice) => ({
  name: "device_call",
  arguments: { device: device.id, tool: "self.lamp.on", arguments: {} },
});

describe("mcp_server_settings.json of the guide", () => {
  it.each(["2025-06-18", "2025-11-25"])(
    "[SRV-1] is a session in the shape of Python's client (%s)",
    async (version) => {
      const { site, device, server } = await opened();
      const path = new URL(server.url).pathname;
      const session: Record<string, string> = {};
      const post = async (message: Fields) => {
        const headers = {
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
          ...server.headers,
          ...session,
        };
        const body = JSON.stringify({ jsonrpc: "2.0", ...message });
        return await askAll(site.url, { method: "POST", path, headers, body });
      };
      const request = async (message: Fields) => {
        const answer = await post(message);
        expect(answer.status).toBe(200);
        const isStream = answer.headers["content-type"]?.includes("text/event-stream") === true;
        const found = isStream ? messagesOf(answer.text).at(-1) : answer.body;
        expect(found?.["id"]).toBe(message["id"]);
        return { result: found?.["result"] as Fields, headers: answer.headers };
      };
      const params = {
        protocolVersion: version,
        capabilities: {},
        clientInfo: { name: "mcp", version: "0.1.0" },
      };
      const first = await request({ id: 0, method: "initialize", params });
      expect(first.result).toMatchObject({ protocolVersion: version, serverInfo: { name: "tendon" } });
      session["mcp-session-id"] = String(first.headers["mcp-session-id"]);
      session["mcp-protocol-version"] = version;
      expect((await post({ method: "notifications/initialized" })).status).toBe(202);
      const stream: IncomingMessage = await ask(site.url, {
        path,
        headers: { accept: "text/event-stream", "cache-control": "no-store", ...server.headers, ...session },
      });
      onTestFinished(() => void stream.destroy());
      expect([stream.statusCode, stream.headers["content-type"]]).toEqual([200, "text/event-stream"]);
      const { result: list } = await request({ id: 1, method: "tools/list" });
      const names = (list["tools"] as { name: string }[]).map(({ name }) => name);
      expect([names.includes("devices_list"), names.includes("device_call"), names.length]).toEqual([
        true,
        true,
        7,
      ]);
      // The client refuses names that a language model cannot call.
      for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      const calling = request({ id: 2, method: "tools/call", params: lampOn(device) });
      device.reply((await device.nextRequest("tools/call")).id, textContent("on"));
      expect((await calling).result).toMatchObject({ content: [{ type: "text", text: "on" }] });
      const { result: failed } = await request({
        id: 3,
        method: "tools/call",
        params: { name: "device_call", arguments: { device: "no-such", tool: "x" } },
      });
      expect(failed).toMatchObject({ isError: true });
      const ended = await askAll(site.url, {
        method: "DELETE",
        path,
        headers: { ...server.headers, ...session },
      });
      expect([200, 204]).toContain(ended.status);
      expect((await post({ id: 4, method: "tools/list" })).status).toBe(404);
    },
  );

  it("[SRV-1] is used by the official client, which sends these headers with every request", async () => {
    const { device, server } = await opened();
    const sent: { method: string; authorization: string | null; rpc: unknown }[] = [];
    const transport = new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: server.headers },
      fetch: async (url, init) => {
        const { method = "GET", headers, body } = init ?? {};
        const rpc = typeof body === "string" ? asObject(body)["method"] : undefined;
        sent.push({ method, authorization: new Headers(headers).get("authorization"), rpc });
        return await fetch(url, init);
      },
    });
    const client = new Client(
      { name: "xiaozhi-esp32-server", version: "0.0.1" },
      { versionNegotiation: { mode: "legacy" } },
    );
    onTestFinished(() => client.close());
    await client.connect(transport);
    expect(client.getNegotiatedProtocolVersion()).toBe("2025-11-25");
    await until(() => sent.some(({ method }) => method === "GET"), "the stream");
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(7);
    const calling = client.callTool(lampOn(device));
    device.reply((await device.nextRequest("tools/call")).id, textContent("on"));
    expect(await calling).toMatchObject({ content: [{ type: "text", text: "on" }] });
    await transport.terminateSession();
    expect(new Set(sent.map(({ method }) => method))).toEqual(new Set(["POST", "GET", "DELETE"]));
    expect(new Set(sent.map(({ authorization }) => authorization))).toEqual(
      new Set([server.headers["Authorization"]]),
    );
    expect(sent.flatMap(({ rpc }) => rpc ?? [])).toEqual([
      "initialize",
      "notifications/initialized",
      "tools/list",
      "tools/call",
    ]);
  });

  it("[SRV-2] is refused with 401 and a hint when the token is the example's", async () => {
    const { site, server } = await opened();
    const { status, headers } = await askAll(site.url, {
      method: "POST",
      path: new URL(server.url).pathname,
      headers: { "content-type": "application/json", authorization: "Bearer tdn_example" },
      body: "{}",
    });
    expect([status, String(headers["www-authenticate"]).startsWith("Bearer")]).toEqual([401, true]);
  });
});

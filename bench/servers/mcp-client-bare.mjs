// The least a proxy of the official SDK can be: Streamable HTTP in front, its client of the same server behind it.
import http from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/server";
import { sessionHandler } from "./mcp-sessions.mjs";
import { reportTo } from "./report.mjs";

const client = new Client(
  { name: "bare-client", version: "1.0.0" },
  { versionNegotiation: { mode: "auto" } },
);
await client.connect(new StreamableHTTPClientTransport(new URL(process.env.SERVER_URL)));

function makeServer() {
  const server = new Server({ name: "bare-client", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", (request) => client.listTools(request.params));
  server.setRequestHandler("tools/call", (request) => client.callTool(request.params));
  return server;
}

const handle = sessionHandler(makeServer);

const server = http.createServer((request, response) => void handle(request, response));
server.listen(0, "127.0.0.1", () => reportTo(process, { url: `http://127.0.0.1:${server.address().port}` }));

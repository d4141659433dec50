// The least an MCP server of the official SDK can do: one tool, both eras, on Node's own HTTP server.
import { randomUUID } from "node:crypto";
import http from "node:http";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { reportTo } from "./report.mjs";

const inputSchema = fromJsonSchema({
  type: "object",
  properties: { volume: { type: "integer", minimum: 0, maximum: 100 } },
  required: ["volume"],
});

function makeServer() {
  const server = new McpServer({ name: "bare", version: "1.0.0" });
  server.registerTool("set_volume", { description: "Sets the volume.", inputSchema }, () => ({
    content: [{ type: "text", text: "true" }],
  }));
  return server;
}

const modern = toNodeHandler(createMcpHandler(makeServer, { legacy: "reject" }));
const sessions = new Map();

async function legacy(request, response) {
  const known = sessions.get(request.headers["mcp-session-id"]);
  if (known !== undefined) return await known.handleRequest(request, response);
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  await makeServer().connect(transport);
  return await transport.handleRequest(request, response);
}

const server = http.createServer((request, response) => {
  const isModern = request.headers["mcp-protocol-version"] === "2026-07-28";
  void (isModern ? modern : legacy)(request, response);
});
server.listen(0, "127.0.0.1", () => reportTo(process, { url: `http://127.0.0.1:${server.address().port}` }));

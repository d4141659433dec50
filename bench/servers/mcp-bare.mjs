// The least an MCP server of the official SDK can do: one tool, both eras, on Node's own HTTP server.
import http from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { sessionHandler } from "./mcp-sessions.mjs";
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
const legacy = sessionHandler(makeServer);

const server = http.createServer((request, response) => {
  const isModern = request.headers["mcp-protocol-version"] === "2026-07-28";
  void (isModern ? modern : legacy)(request, response);
});
server.listen(0, "127.0.0.1", () => reportTo(process, { url: `http://127.0.0.1:${server.address().port}` }));

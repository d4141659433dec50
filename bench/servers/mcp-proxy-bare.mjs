// The least a proxy of the official SDK can be: Streamable HTTP in front, the same program on its pipes behind it.
import http from "node:http";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Server } from "@modelcontextprotocol/server";
import { sessionHandler } from "./mcp-sessions.mjs";
import { reportTo } from "./report.mjs";

const program = fileURLToPath(new URL("./mcp-program.mjs", import.meta.url));
const client = new Client({ name: "bare-proxy", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command: process.execPath, args: [program] }));

function makeServer() {
  const server = new Server({ name: "bare-proxy", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", (request) => client.listTools(request.params));
  server.setRequestHandler("tools/call", (request) => client.callTool(request.params));
  return server;
}

const handle = sessionHandler(makeServer);

const server = http.createServer((request, response) => void handle(request, response));
server.listen(0, "127.0.0.1", () => reportTo(process, { url: `http://127.0.0.1:${server.address().port}` }));

// An MCP server on its pipes, written with the official SDK: one tool that answers at once.
import { fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

const server = new McpServer({ name: "bench-program", version: "1.0.0" });
const inputSchema = fromJsonSchema({
  type: "object",
  properties: { volume: { type: "integer", minimum: 0, maximum: 100 } },
  required: ["volume"],
});
server.registerTool("set_volume", { description: "Sets the volume.", inputSchema }, () => ({
  content: [{ type: "text", text: "true" }],
}));
await server.connect(new StdioServerTransport());

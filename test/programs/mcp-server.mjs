// A standard MCP server on its pipes, written with the official SDK.
import { Server } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

const server = new Server(
  { name: "notes", version: "4.5.6" },
  { capabilities: { tools: { listChanged: true } } },
);
let extra = false;
let cancelled = 0;

const tool = (name, properties = {}) => ({
  name,
  description: `Does ${name}`,
  inputSchema: { type: "object", properties },
});

server.setRequestHandler("tools/list", (request) => {
  if (request.params?.cursor === "second")
    return { tools: [tool("hang"), tool("cancelled"), ...(extra ? [tool("more")] : [])] };
  return {
    tools: [tool("add", { a: { type: "number" }, b: { type: "number" } }), tool("grow")],
    nextCursor: "second",
  };
});

server.setRequestHandler("tools/call", async (request, context) => {
  const { name, arguments: args = {} } = request.params;
  if (name === "add") {
    const sum = args.a + args.b;
    return { content: [{ type: "text", text: String(sum) }], structuredContent: { sum } };
  }
  if (name === "grow") {
    extra = true;
    await server.sendToolListChanged();
    return { content: [{ type: "text", text: "grown" }] };
  }
  if (name === "cancelled") return { content: [{ type: "text", text: String(cancelled) }] };
  await new Promise((resolve) => {
    context.mcpReq.signal.addEventListener("abort", () => {
      cancelled += 1;
      resolve();
    });
  });
  return { content: [] };
});

await server.connect(new StdioServerTransport());

// A standard MCP server whose results are awkward to pass on: pictures beside data, and progress right before the end.
// With the argument `older` it speaks the older era only.
import { Server } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const picture = { type: "image", data: png, mimeType: "image/png" };
const seen = { seen: "a cat" };
const inputSchema = { type: "object", properties: {} };
const outputSchema = { type: "object", properties: { seen: { type: "string" } }, required: ["seen"] };

function makeServer() {
  const server = new Server({ name: "results", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({
    tools: [
      { name: "picture", description: "A picture and data", inputSchema },
      { name: "wordless", description: "A picture and data that no text repeats", inputSchema },
      { name: "declared", description: "A picture and the data it declares", inputSchema, outputSchema },
      { name: "steps", description: "Three steps", inputSchema },
    ],
  }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    if (params.name === "wordless") return { content: [picture], structuredContent: seen };
    const said = { type: "text", text: JSON.stringify(seen) };
    if (params.name !== "steps") return { content: [said, picture], structuredContent: seen };
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [1, 2, 3]) {
      await mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress, total: 3 },
      });
    }
    return { content: [{ type: "text", text: "done" }] };
  });
  return server;
}

if (process.argv.includes("older")) await makeServer().connect(new StdioServerTransport());
else serveStdio(makeServer);

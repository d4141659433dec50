// A standard MCP server of both eras with a resource that changes, written with the official SDK.
import { ResourceNotFoundError, Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

let note = "";
const uri = "notes://today";

serveStdio(() => {
  const server = new Server(
    { name: "notes", version: "1.0.0" },
    { capabilities: { tools: {}, resources: { subscribe: true } } },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: [
      {
        name: "write",
        description: "Writes the note of today",
        inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      },
    ],
  }));
  server.setRequestHandler("tools/call", async ({ params }) => {
    note = params.arguments.text;
    await server.sendResourceUpdated({ uri });
    return { content: [{ type: "text", text: "written" }] };
  });
  server.setRequestHandler("resources/list", () => ({ resources: [{ uri, name: "today" }] }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [] }));
  server.setRequestHandler("resources/read", ({ params }) => {
    if (params.uri !== uri) throw new ResourceNotFoundError(params.uri);
    return { contents: [{ uri, mimeType: "text/plain", text: note }] };
  });
  server.setRequestHandler("resources/subscribe", () => ({}));
  server.setRequestHandler("resources/unsubscribe", () => ({}));
  return server;
});

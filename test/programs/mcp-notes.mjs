// A standard MCP server with a resource that changes, a prompt and progress, written with the official SDK. It speaks
// both eras; with `old` only the one before 2026-07-28.
import { ProtocolError, ResourceNotFoundError, Server } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";

let note = "";
const uri = "notes://today";
const watched = new Set();
const text = (said) => ({ content: [{ type: "text", text: said }] });
const tool = (name, properties = {}) => ({
  name,
  description: `The notes: ${name}`,
  inputSchema: { type: "object", properties, required: Object.keys(properties) },
});

function notes() {
  const server = new Server(
    { name: "notes", version: "1.0.0" },
    { capabilities: { tools: {}, prompts: {}, completions: {}, resources: { subscribe: true } } },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: [
      tool("write", { text: { type: "string" } }),
      tool("count", { to: { type: "integer" } }),
      tool("watched"),
      tool("end"),
    ],
  }));
  const tools = {
    async write({ text: written }) {
      note = written;
      await server.sendResourceUpdated({ uri });
      return text("written");
    },
    async count({ to }, { mcpReq }) {
      const progressToken = mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= to && progressToken !== undefined; progress += 1)
        await mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress, total: to },
        });
      return text("counted");
    },
    watched: () => text([...watched].join(" ")),
    end: () => process.exit(1),
  };
  server.setRequestHandler("tools/call", ({ params }, context) =>
    tools[params.name](params.arguments, context),
  );
  server.setRequestHandler("prompts/list", () => ({ prompts: [{ name: "summary" }] }));
  server.setRequestHandler("prompts/get", ({ params }) => ({
    messages: [
      {
        role: "user",
        content: { type: "text", text: `Summarise the notes: ${params.arguments?.style ?? "plainly"}` },
      },
    ],
  }));
  server.setRequestHandler("completion/complete", () => ({ completion: { values: ["short"] } }));
  server.setRequestHandler("resources/list", () => ({ resources: [{ uri, name: "today" }] }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [] }));
  server.setRequestHandler("resources/read", ({ params }) => {
    if (params.uri === "notes://broken") throw new ProtocolError(-32050, "the page is torn");
    if (params.uri !== uri) throw new ResourceNotFoundError(params.uri);
    return { contents: [{ uri, mimeType: "text/plain", text: note }] };
  });
  server.setRequestHandler("resources/subscribe", ({ params }) => {
    watched.add(params.uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params }) => {
    watched.delete(params.uri);
    return {};
  });
  server.setNotificationHandler("notifications/cancelled", ({ params }) => {
    watched.add(String(params.reason));
  });
  return server;
}

if (process.argv[2] === "old") await notes().connect(new StdioServerTransport());
else serveStdio(notes);

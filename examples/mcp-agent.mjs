// An agent with the official MCP client: searches for a tool and calls it.
//
//   TENDON_TOKEN=… node examples/mcp-agent.mjs "set the volume" '{"volume":30}' [http://127.0.0.1:8000]
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [request, args = "{}", gateway = "http://127.0.0.1:8000"] = process.argv.slice(2);
const { TENDON_TOKEN: token } = process.env;
if (request === undefined || token === undefined) {
  console.error("usage: TENDON_TOKEN=… node examples/mcp-agent.mjs REQUEST [ARGUMENTS] [http://host:port]");
  process.exit(2);
}

const client = new Client(
  { name: "example-agent", version: "1.0.0" },
  { versionNegotiation: { mode: "auto" } },
);
await client.connect(
  new StreamableHTTPClientTransport(new URL("/mcp", gateway), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  }),
);

const found = await client.callTool({ name: "tools_search", arguments: { query: request, limit: 1 } });
const [best] = found.structuredContent.tools;
if (best === undefined) {
  console.error(`no tool fits "${request}"`);
  process.exitCode = 1;
} else {
  const { device, tool } = best;
  const call = { device, tool, arguments: JSON.parse(args) };
  const { content, isError } = await client.callTool({ name: "device_call", arguments: call });
  console.log(`${device} ${tool}: ${content.map((part) => part.text ?? `(${part.type})`).join("\n")}`);
  if (isError) process.exitCode = 1;
}
await client.close();

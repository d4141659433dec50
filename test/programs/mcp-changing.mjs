// A standard MCP server that reports changed tools without end, and counts how often it is listed.
import readline from "node:readline";

let listed = 0;

function say(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function answer(method) {
  if (method === "initialize")
    return {
      protocolVersion: "2025-11-25",
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: "changing", version: "1" },
    };
  if (method === "tools/list") {
    listed += 1;
    return { tools: [{ name: "count", inputSchema: { type: "object" } }] };
  }
  if (method === "tools/call") return { content: [{ type: "text", text: String(listed) }] };
  return undefined;
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = answer(method);
  if (result === undefined) say({ id, error: { code: -32601, message: "Method not found" } });
  else say({ id, result });
  if (method === "initialize")
    setInterval(() => {
      for (let count = 0; count < 5; count += 1) say({ method: "notifications/tools/list_changed" });
    }, 10);
});
process.stdin.on("end", () => process.exit(0));

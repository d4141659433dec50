// An MCP server of the older era that exits on a first request other than `initialize`. With `exit-in-initialize` it
// also exits in its first start after that request, before it answers.
import fs from "node:fs";
import readline from "node:readline";

const [, , mode, mark] = process.argv;
let first = true;

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (first && method !== "initialize") process.exit(4);
  first = false;
  if (method === "initialize") {
    if (mode === "exit-in-initialize" && !fs.existsSync(mark)) {
      fs.writeFileSync(mark, "");
      process.exit(5);
    }
    const serverInfo = { name: "strict", version: "1.0.0" };
    answer(id, { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo });
  }
  if (method === "tools/list") answer(id, { tools: [{ name: "a", inputSchema: { type: "object" } }] });
  if (method === "tools/call") answer(id, { content: [{ type: "text", text: "b" }] });
}

function answer(id, result) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}

// A device of your own in one file: any WebSocket client that says hello and answers MCP can offer tools.
//
//   node examples/own-device.mjs [ws://127.0.0.1:8000/xiaozhi/v1/] [token]
//
// The gateway has to let it in: `TENDON_DEVICES_ADMISSION=open npm start`, or provision it and pass its token.
import WebSocket from "ws";

const [url = "ws://127.0.0.1:8000/xiaozhi/v1/", token] = process.argv.slice(2);
let lamp = false;

const tools = [
  {
    name: "lamp.set",
    description: "Switches the lamp on or off.",
    inputSchema: { type: "object", properties: { on: { type: "boolean" } }, required: ["on"] },
  },
  {
    name: "lamp.get",
    description: "Whether the lamp is on.",
    inputSchema: { type: "object", properties: {} },
  },
];

function answer(method, params) {
  if (method === "initialize") {
    return {
      protocolVersion: "2024-11-05",
      capabilities: { tools: {} },
      serverInfo: { name: "my-lamp", version: "1.0.0" },
    };
  }
  if (method === "tools/list") return { tools };
  if (method === "tools/call" && params.name === "lamp.set") lamp = params.arguments.on;
  if (method === "tools/call")
    return { content: [{ type: "text", text: JSON.stringify({ on: lamp }) }], isError: false };
  return undefined;
}

const socket = new WebSocket(url, {
  headers: {
    "Device-Id": "02:00:00:00:1a:3d",
    "Client-Id": "7f0c9d3a-5b1e-4a77-9a44-000000000001",
    "Protocol-Version": "1",
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
  },
});
socket.on("open", () => {
  socket.send(JSON.stringify({ type: "hello", version: 1, transport: "websocket", features: { mcp: true } }));
});
socket.on("message", (data) => {
  const { type, session_id, payload } = JSON.parse(data.toString());
  if (type !== "mcp") return;
  const { id, method, params } = payload;
  const result = answer(method, params);
  const reply =
    result === undefined ? { error: { message: `Method not implemented: ${method}` } } : { result };
  socket.send(JSON.stringify({ session_id, type: "mcp", payload: { jsonrpc: "2.0", id, ...reply } }));
  if (method === "tools/call") console.log(`lamp is ${lamp ? "on" : "off"}`);
});
socket.on("error", (error) => {
  console.error(`cannot connect: ${error.message}`);
  process.exitCode = 1;
});
socket.on("close", () => console.log("disconnected"));

// Your own device in one file: any WebSocket client that sends a hello and answers MCP can offer tools.
//
//   npm start                                                # the gateway, in another terminal
//   node examples/own-device.mjs [--id my-lamp]              # registers itself at the gateway, then connects
//   node examples/own-device.mjs --id ID --url ws://HOST:8000/xiaozhi/v1/ --device-token TOKEN
//
// Each device has an id, a Client-Id and its own token. To get a token, this program provisions itself with yours
// (TENDON_TOKEN, or the one in data/admin-token). A device that you give away should have its own token only: provision
// it once, as docs/reference/mqtt.md shows, and start it with --url and --device-token.
import fs from "node:fs";
import { parseArgs } from "node:util";
import WebSocket from "ws";

const {
  id,
  url,
  "device-token": deviceToken,
} = parseArgs({
  options: {
    id: { type: "string", default: "my-lamp" },
    url: { type: "string", default: "http://127.0.0.1:8000" },
    "device-token": { type: "string" },
  },
}).values;
const clientId = "7f0c9d3a-5b1e-4a77-9a44-000000000001";
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

function fail(reason) {
  console.error(`cannot connect: ${reason}`);
  process.exit(1);
}

/** The gateway's error text, from `{"code":"forbidden","detail":"…"}`. */
function reasonIn(status, body) {
  try {
    const { code, detail } = JSON.parse(body);
    return `${code}: ${detail}`;
  } catch {
    return `the gateway answers ${status}`;
  }
}

async function provision() {
  const kept = "data/admin-token";
  const token = process.env.TENDON_TOKEN ?? (fs.existsSync(kept) ? fs.readFileSync(kept, "utf8").trim() : "");
  if (token === "") fail(`no token: set TENDON_TOKEN, or start this where ${kept} of the gateway is`);
  const reply = await fetch(new URL("/api/v1/devices/provision", url), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ id, clientId }),
  }).catch(() => fail(`no gateway answers at ${url}; \`npm start\` runs one`));
  const body = await reply.text();
  if (!reply.ok) fail(reasonIn(reply.status, body));
  return JSON.parse(body).websocket;
}

const given = /^wss?:/.test(url) ? { url, token: deviceToken } : await provision();
const socket = new WebSocket(given.url, {
  headers: {
    "Device-Id": id,
    "Client-Id": clientId,
    "Protocol-Version": "1",
    ...(given.token === undefined ? {} : { Authorization: `Bearer ${given.token}` }),
  },
});
socket.on("open", () => {
  socket.send(JSON.stringify({ type: "hello", version: 1, transport: "websocket", features: { mcp: true } }));
  console.log(`${id} is connected; press Ctrl+C to stop`);
});
socket.on("message", (data) => {
  const { type, session_id, payload } = JSON.parse(data.toString());
  if (type !== "mcp") return;
  const { id: request, method, params } = payload;
  const result = answer(method, params);
  const reply =
    result === undefined ? { error: { message: `Method not implemented: ${method}` } } : { result };
  socket.send(
    JSON.stringify({ session_id, type: "mcp", payload: { jsonrpc: "2.0", id: request, ...reply } }),
  );
  if (method === "tools/call") console.log(`lamp is ${lamp ? "on" : "off"}`);
});
socket.on("unexpected-response", (_, reply) => {
  let body = "";
  reply.on("data", (chunk) => {
    body += chunk;
  });
  reply.on("end", () => fail(reasonIn(reply.statusCode, body)));
});
socket.on("error", (error) => fail(error.message));
socket.on("close", () => console.log("disconnected"));

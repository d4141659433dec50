// The lightest device that follows the wire rules, so that the gateway is measured and not the device.
import WebSocket from "ws";
import { completesListing, macOf } from "./devices/firmwares.mjs";

export { macOf };

const tools = [
  {
    name: "self.audio_speaker.set_volume",
    description: "Sets the volume.",
    inputSchema: {
      type: "object",
      properties: { volume: { type: "integer", minimum: 0, maximum: 100 } },
      required: ["volume"],
    },
  },
];

const trueResult = { content: [{ type: "text", text: "true" }], isError: false };
export const simple = { tools, call: () => trueResult };

/** `behaviour.call` gets the parameters of a `tools/call`; a promise answers later, `undefined` never. */
function answer({ method, params }, behaviour) {
  if (method === "initialize") {
    return {
      protocolVersion: "2024-11-05",
      capabilities: { tools: {} },
      serverInfo: { name: "bench", version: "1.0.0" },
    };
  }
  if (method === "tools/list") return { tools: behaviour.tools };
  return method === "tools/call" ? behaviour.call(params) : trueResult;
}

/** Sends the reply to a request, at once if the result is known. */
export function respond({ id, method, params }, behaviour, send) {
  const reply = (result) => {
    if (result !== undefined) send({ jsonrpc: "2.0", id, result });
  };
  const result = answer({ method, params }, behaviour);
  if (result instanceof Promise) void result.then(reply);
  else reply(result);
}

/** Resolves when the gateway has listed it. */
export function connectDevice(url, index, behaviour = simple) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, {
      perMessageDeflate: false,
      headers: { "Device-Id": macOf(index), "Client-Id": `bench-${index}`, "Protocol-Version": "1" },
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the gateway closed the connection")));
    socket.on("open", () =>
      socket.send('{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket"}'),
    );
    socket.on("message", (data) => {
      const { type, session_id, payload } = JSON.parse(data.toString());
      if (type !== "mcp") return;
      respond(payload, behaviour, (reply) => {
        if (socket.readyState === WebSocket.OPEN)
          socket.send(JSON.stringify({ session_id, type: "mcp", payload: reply }));
      });
      if (completesListing(payload)) resolve(socket);
    });
  });
}

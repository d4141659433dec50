// The lightest device that follows the wire rules, so that the gateway is measured and not the device.
import WebSocket from "ws";

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

export function answer(method) {
  if (method === "initialize") {
    return {
      protocolVersion: "2024-11-05",
      capabilities: { tools: {} },
      serverInfo: { name: "bench", version: "1.0.0" },
    };
  }
  if (method === "tools/list") return { tools };
  return { content: [{ type: "text", text: "true" }], isError: false };
}

export function macOf(index) {
  return `02:00:00:${[16, 8, 0].map((shift) => ((index >> shift) & 255).toString(16).padStart(2, "0")).join(":")}`;
}

/** Resolves when the gateway has listed it. */
export function connectDevice(url, index) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, {
      perMessageDeflate: false,
      headers: { "Device-Id": macOf(index), "Client-Id": `bench-${index}`, "Protocol-Version": "1" },
    });
    let lists = 0;
    socket.on("error", reject);
    socket.on("open", () =>
      socket.send('{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket"}'),
    );
    socket.on("message", (data) => {
      const { type, session_id, payload } = JSON.parse(data.toString());
      if (type !== "mcp") return;
      const reply = { jsonrpc: "2.0", id: payload.id, result: answer(payload.method) };
      socket.send(JSON.stringify({ session_id, type: "mcp", payload: reply }));
      if (payload.method === "tools/list") {
        lists += 1;
        if (lists === 2) resolve(socket);
      }
    });
  });
}

// The least a voice server can do: it answers the hello and sends back what it hears.
import { WebSocketServer } from "ws";
import { reportTo } from "./report.mjs";

const hello = JSON.stringify({
  type: "hello",
  version: 1,
  transport: "websocket",
  session_id: "echo",
  audio_params: { format: "opus", sample_rate: 24_000, channels: 1, frame_duration: 60 },
});
const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
server.on("connection", (socket) =>
  socket.on("message", (data, isBinary) => {
    if (isBinary) socket.send(data);
    else if (data.includes('"hello"')) socket.send(hello);
  }),
);
server.on("listening", () => reportTo(process, { url: `ws://127.0.0.1:${server.address().port}/` }));

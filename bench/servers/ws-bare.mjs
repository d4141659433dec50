// The least that a WebSocket server can do in the dialogue of a device: the frames that the gateway sends, in the same
// places, without looking at what comes.
import { WebSocketServer } from "ws";
import { reportTo } from "./report.mjs";

const script = JSON.parse(process.env.BENCH_SCRIPT);
const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
server.on("connection", (socket) => {
  let turn = 0;
  socket.on("message", () => {
    for (const frame of script[turn] ?? []) socket.send(frame);
    turn += 1;
  });
});
server.on("listening", () => reportTo(process, { url: `ws://127.0.0.1:${server.address().port}/` }));

// The least a relay can do: a connection to the voice server for each that comes, and everything passed on unseen.
import { WebSocket, WebSocketServer } from "ws";
import { reportTo } from "./report.mjs";

const upstreamUrl = process.env.BENCH_VOICE;
const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
server.on("connection", (board) => {
  const upstream = new WebSocket(upstreamUrl, { perMessageDeflate: false });
  const held = [];
  board.on("message", (data, binary) => {
    if (upstream.readyState === upstream.OPEN) upstream.send(data, { binary });
    else held.push([data, binary]);
  });
  upstream.on("open", () => {
    for (const [data, binary] of held) upstream.send(data, { binary });
  });
  upstream.on("message", (data, binary) => board.send(data, { binary }));
  upstream.on("close", () => board.terminate());
  board.on("close", () => upstream.terminate());
});
server.on("listening", () => reportTo(process, { url: `ws://127.0.0.1:${server.address().port}/` }));

// The least a WebSocket server can do: send back what came.
import { WebSocketServer } from "ws";
import { reportTo } from "./report.mjs";

const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
server.on("connection", (socket) => socket.on("message", (data) => socket.send(data.toString())));
server.on("listening", () => reportTo(process, { url: `ws://127.0.0.1:${server.address().port}/` }));

// The least that Node can do for a call from HTTP to an MQTT device and back: no tokens, no checks, no queue, no
// history. What a gateway costs beyond this is what it does.
import http from "node:http";
import net from "node:net";
import mqttPacket from "mqtt-packet";
import { reportTo } from "./report.mjs";

const devices = new Map();
const waiting = new Map();
let lastId = 0;

function ask({ socket, topic }, method, params, answered) {
  lastId += 1;
  waiting.set(lastId, answered);
  const message = { session_id: "", type: "mcp", payload: { jsonrpc: "2.0", id: lastId, method, params } };
  socket.write(mqttPacket.generate({ cmd: "publish", topic, payload: JSON.stringify(message), qos: 0 }));
}

const broker = net.createServer((socket) => {
  socket.setNoDelay(true);
  socket.on("error", () => undefined);
  const parser = mqttPacket.parser({ protocolVersion: 4 });
  parser.on("packet", (packet) => {
    if (packet.cmd === "connect") {
      socket.write(mqttPacket.generate({ cmd: "connack", returnCode: 0, sessionPresent: false }));
      const device = { socket, topic: `devices/p2p/${packet.clientId}` };
      devices.set(packet.clientId, device);
      // A device counts as ready when its whole list was read.
      ask(device, "tools/list", { withUserTools: true }, () => undefined);
    } else if (packet.cmd === "publish") {
      const { payload } = JSON.parse(packet.payload.toString());
      const answered = waiting.get(payload.id);
      waiting.delete(payload.id);
      answered?.(payload.result);
    }
  });
  socket.on("data", (chunk) => parser.parse(chunk));
});

const server = http.createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (chunk) => {
    body += chunk;
  });
  request.on("end", () => {
    const [, clientId, name] = request.url.split("/");
    ask(devices.get(clientId), "tools/call", { name, ...JSON.parse(body) }, (result) => {
      const text = JSON.stringify({ device: clientId, tool: name, result });
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
      });
      response.end(text);
    });
  });
});

broker.listen(0, "127.0.0.1", () => {
  server.listen(0, "127.0.0.1", () => {
    const endpoint = `127.0.0.1:${broker.address().port}`;
    reportTo(process, { url: `http://127.0.0.1:${server.address().port}`, endpoint });
  });
});

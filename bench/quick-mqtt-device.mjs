// The lightest MQTT device that follows the rules: connects, never subscribes, answers what is pushed to it.
import net from "node:net";
import mqttPacket from "mqtt-packet";
import { completesListing } from "./devices/firmwares.mjs";
import { macOf, respond, simple } from "./quick-device.mjs";

/** Resolves when the broker has accepted it; `listed` when the gateway has read its tools. `onMessage`: all but MCP. */
export function connectMqttDevice(settings, onMessage = () => {}, behaviour = simple) {
  const [host, port] = settings.endpoint.split(":");
  const socket = net.connect(Number(port), host);
  socket.setNoDelay(true);
  const parser = mqttPacket.parser({ protocolVersion: 4 });
  let sayListed;
  const listed = new Promise((resolve) => {
    sayListed = resolve;
  });
  const accepted = new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the gateway closed the connection")));
    parser.on("packet", (packet) => {
      if (packet.cmd === "connack") {
        if (packet.returnCode === 0) resolve({ socket, listed });
        else reject(new Error(`refused with ${packet.returnCode}`));
        return;
      }
      if (packet.cmd !== "publish") return;
      const message = JSON.parse(packet.payload.toString());
      const { type, payload } = message;
      if (type !== "mcp") {
        onMessage(message);
        return;
      }
      respond(payload, behaviour, (reply) => {
        if (socket.writable)
          socket.write(publish(settings.publish_topic, { session_id: "", type: "mcp", payload: reply }));
      });
      if (completesListing(payload)) sayListed();
    });
  });
  socket.on("data", (chunk) => parser.parse(chunk));
  socket.write(
    mqttPacket.generate({
      cmd: "connect",
      protocolId: "MQTT",
      protocolVersion: 4,
      clean: true,
      clientId: settings.client_id,
      username: settings.username,
      password: Buffer.from(settings.password),
      keepalive: settings.keepalive,
    }),
  );
  return accepted;
}

export function publish(topic, message) {
  return mqttPacket.generate({
    cmd: "publish",
    topic,
    payload: JSON.stringify(message),
    qos: 0,
    dup: false,
    retain: false,
  });
}

/** Settings the way a board gets them: by asking. */
export async function provision(server, index) {
  const response = await fetch(`${server.url}/xiaozhi/ota/`, {
    method: "POST",
    headers: { "device-id": macOf(index), "client-id": `bench-${index}` },
    body: "{}",
  });
  return (await response.json()).mqtt;
}

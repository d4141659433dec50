import net from "node:net";
import mqttPacket from "mqtt-packet";
import { completesListing, firmwares, resultOf } from "./firmwares.mjs";

const connack = 2;
const publish = 3;
const empty = Buffer.alloc(0);

/** A publish with QoS 0. */
function publishPacket(topic, text, protocolVersion) {
  const packet = { cmd: "publish", topic, payload: text, qos: 0, dup: false, retain: false };
  return mqttPacket.generate(packet, { protocolVersion });
}

/** Takes whole packets off the start of the buffer, and returns the rest. */
function readPackets(buffer, onPacket) {
  let at = 0;
  while (buffer.length - at >= 2) {
    let length = 0;
    let head = 1;
    for (let shift = 0; ; shift += 7, head += 1) {
      if (at + head >= buffer.length) return buffer.subarray(at);
      const byte = buffer[at + head];
      length |= (byte & 0x7f) << shift;
      if (byte < 128) break;
    }
    const start = at + head + 1;
    if (buffer.length < start + length) break;
    onPacket(buffer[at] >> 4, buffer.subarray(start, start + length));
    at = start + length;
  }
  return buffer.subarray(at);
}

/**
 * A device over MQTT 3.1.1 or 5, with the settings that the gateway gave it. Like the firmware it never subscribes and
 * answers what it is sent. `onAccepted` is called at the CONNACK, `onListed` when the last page of its tools has been sent.
 */
export class MqttDevice {
  #socket;
  #firmware;
  #topic;
  #version;
  #rest = empty;
  #onAccepted;
  #onListed;

  constructor(
    { endpoint, client_id, username, password, publish_topic, version = 4 },
    index,
    { onAccepted, onListed, onClosed },
  ) {
    const [host, port] = endpoint.split(":");
    this.#firmware = firmwares[index % firmwares.length];
    this.#topic = publish_topic;
    this.#version = version;
    this.#onAccepted = onAccepted;
    this.#onListed = onListed;
    const socket = net.connect(Number(port), host);
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("error", () => undefined);
    socket.on("close", () => onClosed?.("closed"));
    socket.write(
      mqttPacket.generate({
        cmd: "connect",
        protocolId: "MQTT",
        protocolVersion: version,
        clean: true,
        clientId: client_id,
        username,
        password: Buffer.from(password),
        // The firmware's default. The measured part is shorter, so that no ping is due in it.
        keepalive: 240,
      }),
    );
  }

  get bytes() {
    return this.#socket.bytesRead + this.#socket.bytesWritten;
  }

  send(text) {
    this.#socket.write(publishPacket(this.#topic, text, this.#version));
  }

  close() {
    this.#socket.destroy();
  }

  #take(chunk) {
    const buffer = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = readPackets(buffer, (type, body) => this.#packet(type, body));
    if (this.#rest.length === 0) this.#rest = empty;
  }

  #packet(type, body) {
    if (type === connack) {
      if (body[1] === 0) this.#onAccepted?.(this);
      else this.#socket.destroy();
    }
    if (type !== publish) return;
    // The gateway sends no properties: their length is one byte.
    const start = 2 + body.readUInt16BE(0) + (this.#version === 5 ? 1 : 0);
    const { type: kind, payload: request } = JSON.parse(body.toString("utf8", start));
    if (kind !== "mcp" || request.id === undefined) return;
    const result = resultOf(this.#firmware, request);
    this.send(
      `{"session_id":"","type":"mcp","payload":{"jsonrpc":"2.0","id":${request.id},"result":${result}}}`,
    );
    if (completesListing(request)) this.#onListed?.();
  }
}

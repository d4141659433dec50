import mqttPacket from "mqtt-packet";

const maxOneByteLength = 0x7f;
const continuationBit = 0x80;

/**
 * Writes PUBLISH packets of QoS 0 for one topic. Everything except length and payload is encoded once and reused.
 */
export function pushPackets(topic: string, protocolVersion: 4 | 5): (text: string) => Buffer {
  const packet = { cmd: "publish", topic, payload: "", qos: 0, retain: false, dup: false } as const;
  const empty = mqttPacket.generate(packet, { protocolVersion });
  const [firstByte = 0] = empty;
  const head = empty.subarray(1 + lengthBytes(empty.length - 2));
  return (text) => {
    const payloadBytes = Buffer.byteLength(text);
    const rest = head.length + payloadBytes;
    const packet = Buffer.allocUnsafe(1 + lengthBytes(rest) + rest);
    packet[0] = firstByte;
    const at = writeLength(packet, rest);
    head.copy(packet, at);
    packet.write(text, at + head.length);
    return packet;
  };
}

/** The number of bytes of an MQTT length, which has seven bits per byte. */
function lengthBytes(length: number): number {
  let bytes = 1;
  for (let left = length; left > maxOneByteLength; left >>= 7) bytes += 1;
  return bytes;
}

/** Returns the offset after the length. */
function writeLength(packet: Buffer, length: number): number {
  let at = 1;
  let left = length;
  while (left > maxOneByteLength) {
    packet[at] = (left & maxOneByteLength) | continuationBit;
    left >>= 7;
    at += 1;
  }
  packet[at] = left;
  return at + 1;
}

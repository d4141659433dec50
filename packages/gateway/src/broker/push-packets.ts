import mqttPacket from "mqtt-packet";

const longestOneByteLength = 0x7f;
const more = 0x80;

/**
 * Writes PUBLISH packets of QoS 0 to one topic. All but length and payload are the same every time: made once, and not
 * for every message.
 */
export function pushPackets(topic: string): (text: string) => Buffer {
  const empty = mqttPacket.generate({
    cmd: "publish",
    topic,
    payload: "",
    qos: 0,
    retain: false,
    dup: false,
  });
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

/** How many bytes MQTT writes a length with: seven bits in each. */
function lengthBytes(length: number): number {
  let bytes = 1;
  for (let left = length; left > longestOneByteLength; left >>= 7) bytes += 1;
  return bytes;
}

/** Gives where it ends. */
function writeLength(packet: Buffer, length: number): number {
  let at = 1;
  let left = length;
  while (left > longestOneByteLength) {
    packet[at] = (left & longestOneByteLength) | more;
    left >>= 7;
    at += 1;
  }
  packet[at] = left;
  return at + 1;
}

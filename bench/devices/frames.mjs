// The frames of a WebSocket client, without a library: thousands of devices should cost their process little.

/** RFC 6455 wants a mask; one of zeros leaves the text as it is. ASCII only. */
export function clientFrame(opcode, text) {
  const { length } = text;
  const headLength = length < 126 ? 6 : 8;
  const frame = Buffer.allocUnsafe(headLength + length);
  frame[0] = 0x80 | opcode;
  if (length < 126) frame[1] = 0x80 | length;
  else {
    frame[1] = 0x80 | 126;
    frame.writeUInt16BE(length, 2);
  }
  frame.writeUInt32BE(0, headLength - 4);
  frame.latin1Write(text, headLength);
  return frame;
}

/** Takes whole frames off the start of the buffer, and returns the rest. */
export function readFrames(buffer, onFrame) {
  let at = 0;
  while (buffer.length - at >= 2) {
    let length = buffer[at + 1] & 0x7f;
    let head = 2;
    if (length === 126) {
      if (buffer.length - at < 4) break;
      length = buffer.readUInt16BE(at + 2);
      head = 4;
    } else if (length === 127) {
      if (buffer.length - at < 10) break;
      length = Number(buffer.readBigUInt64BE(at + 2));
      head = 10;
    }
    const end = at + head + length;
    if (buffer.length < end) break;
    onFrame(buffer[at] & 0x0f, buffer.subarray(at + head, end));
    at = end;
  }
  return at === 0 ? buffer : buffer.subarray(at);
}

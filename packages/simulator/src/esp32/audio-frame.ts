export type AudioVersion = 1 | 2 | 3;

/** One Opus packet in the binary framing of the protocol version: bare, or behind a header of 16 or 4 bytes. */
export function packAudio(version: AudioVersion, packet: Uint8Array, timestamp: number): Buffer {
  switch (version) {
    case 1:
      return Buffer.from(packet);
    case 2: {
      const header = Buffer.alloc(16);
      header.writeUInt16BE(2, 0);
      header.writeUInt32BE(timestamp >>> 0, 8);
      header.writeUInt32BE(packet.length, 12);
      return Buffer.concat([header, packet]);
    }
    case 3: {
      const header = Buffer.alloc(4);
      header.writeUInt16BE(packet.length & 0xffff, 2);
      return Buffer.concat([header, packet]);
    }
  }
}

/** Undefined if the header's length is wrong: the chip would read past the end of its buffer. */
export function unpackAudio(version: AudioVersion, frame: Buffer): Buffer | undefined {
  const headerLength = { 1: 0, 2: 16, 3: 4 }[version];
  if (frame.length < headerLength) return undefined;
  if (version === 1) return frame;
  const length = version === 2 ? frame.readUInt32BE(12) : frame.readUInt16BE(2);
  return frame.length - headerLength < length
    ? undefined
    : frame.subarray(headerLength, headerLength + length);
}

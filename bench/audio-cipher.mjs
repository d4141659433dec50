import { createCipheriv } from "node:crypto";

const blockBytes = 16;

/**
 * AES-128-CTR for the packets of one board. A cipher for each packet would be simpler; thousands of them a second make
 * the collector stop this process for tens of milliseconds, and that would be measured as the relay's delay.
 */
export function audioCipher(key) {
  const cipher = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  return (header, bytes) => {
    const count = Math.ceil(bytes.length / blockBytes);
    const blocks = Buffer.allocUnsafe(count * blockBytes);
    // A header ends with the packet's number, and no board here comes near the largest.
    const first = header.readUInt32BE(12);
    for (let block = 0; block < count; block += 1) {
      header.copy(blocks, block * blockBytes, 0, 12);
      blocks.writeUInt32BE(first + block, block * blockBytes + 12);
    }
    const stream = cipher.update(blocks);
    for (let at = 0; at < bytes.length; at += 1) stream[at] ^= bytes[at];
    return stream.subarray(0, bytes.length);
  };
}

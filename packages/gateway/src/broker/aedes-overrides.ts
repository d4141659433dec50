/**
 * Overrides of aedes that its documented options do not offer. A test checks each with the installed version:
 * `packages/gateway/test/aedes-overrides.test.ts`.
 */
import type { Duplex } from "node:stream";

/**
 * Passes every chunk to `rejects` before aedes parses it. aedes limits topics and messages in flight, but not the size
 * of a packet: its parser collects up to 256 MB in memory. It reads all bytes by `read` of the stream. An intermediate
 * stream would avoid this override, but costs a second pair of buffers per connection and a second pass per message.
 */
export function gateReads(stream: Duplex, rejects: (chunk: Uint8Array) => boolean): void {
  const read = stream.read.bind(stream);
  stream.read = (size?: number) => {
    const chunk: unknown = read(size);
    if (!(chunk instanceof Uint8Array) || !rejects(chunk)) return chunk;
    stream.destroy();
    return null;
  };
}

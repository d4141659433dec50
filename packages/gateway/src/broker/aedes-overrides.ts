/**
 * What the gateway needs of aedes and its documented options do not offer. A test compares each with the installed
 * version: `packages/gateway/test/aedes-overrides.test.ts`.
 */
import type { Duplex } from "node:stream";

/**
 * Shows every byte to `refuses` before aedes parses it. aedes has a limit for topics and for messages in flight, but
 * none for the size of a packet, and its parser gathers a packet of up to 256 MB in memory. It takes all bytes by
 * `read` of the stream it is handed. A stream in between would do without this override, but costs each of many
 * thousand connections a second pair of buffers, and each message a second pass.
 */
export function gateReads(stream: Duplex, refuses: (chunk: Uint8Array) => boolean): void {
  const read = stream.read.bind(stream);
  stream.read = (size?: number) => {
    const chunk: unknown = read(size);
    if (!(chunk instanceof Uint8Array) || !refuses(chunk)) return chunk;
    stream.destroy();
    return null;
  };
}

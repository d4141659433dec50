/**
 * Overrides of aedes that its documented options do not offer. A test checks each with the installed version:
 * `packages/gateway/test/aedes-overrides.test.ts`.
 */
import type { Duplex } from "node:stream";

/**
 * Passes every chunk to `rejects` before aedes parses it. aedes limits topics and messages in flight, but neither the size
 * of a packet (its parser collects up to 256 MB in memory) nor their rate. It reads all bytes by `read` of the stream. An
 * intermediate stream would avoid this override, but costs a second pair of buffers per connection and a second pass per
 * message.
 */
export function gateReads(stream: Duplex, rejects: (chunk: Uint8Array) => boolean): ReadGate {
  const read = stream.read.bind(stream);
  let held = false;
  stream.read = (size?: number) => {
    if (held) return null;
    const chunk: unknown = read(size);
    if (!(chunk instanceof Uint8Array) || !rejects(chunk)) return chunk;
    stream.destroy();
    return null;
  };
  return {
    hold() {
      held = true;
    },
    release() {
      held = false;
      // What arrived meanwhile was announced already.
      stream.emit("readable");
    },
  };
}

/** Holds back the bytes of a connection. The system's buffers fill, and the other end waits. */
export interface ReadGate {
  hold(): void;
  release(): void;
}

/** Replaces the broker's own delivery, so that no client's message reaches another client. */
export const noDelivery = {
  on: (_topic: string, _listener: unknown, done?: () => void) => done?.(),
  removeListener: (_topic: string, _listener: unknown, done?: () => void) => done?.(),
  emit: (_packet: unknown, done?: () => void) => done?.(),
  close: (done: () => void) => done(),
};

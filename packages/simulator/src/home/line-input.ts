import fs from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";

/** Source of a client's bytes. A chunk is valid only until the handler returns. */
export interface LineInput {
  start(chunk: (bytes: Buffer) => void, ended: () => void): void;
  pause(): void;
  resume(): void;
  /** Stops reading and discards pending input. */
  close(): void;
}

export function streamInput(stream: Readable): LineInput {
  return {
    start(chunk, ended) {
      stream.on("data", (bytes: Buffer | string) =>
        chunk(typeof bytes === "string" ? Buffer.from(bytes) : bytes),
      );
      stream.once("end", ended);
      stream.once("error", ended);
    },
    pause: () => stream.pause(),
    resume: () => stream.resume(),
    close: () => stream.destroy(),
  };
}

const bufferBytes = 64 * 1024;

/** The process's stdin. A pipe is read into one reused buffer, which halves the cost of a call. */
export function standardInput(): LineInput {
  const kind = fs.fstatSync(0);
  return kind.isFIFO() || kind.isSocket() ? pipeInput(0) : streamInput(process.stdin);
}

function pipeInput(fd: number): LineInput {
  let handle: (bytes: Buffer) => void = () => undefined;
  let paused = false;
  const buffer = Buffer.allocUnsafe(bufferBytes);
  const callback = (count: number): boolean => {
    handle(buffer.subarray(0, count));
    return !paused;
  };
  // The constructor accepts `onread` like connect(), but its type lacks it.
  const options: object = { fd, readable: true, writable: false, onread: { buffer, callback } };
  let socket: Socket | undefined;
  return {
    start(chunk, ended) {
      handle = chunk;
      socket = new Socket(options);
      socket.once("end", ended);
      socket.once("error", ended);
    },
    pause() {
      paused = true;
    },
    resume() {
      paused = false;
      socket?.resume();
    },
    close() {
      paused = true;
      socket?.destroy();
    },
  };
}

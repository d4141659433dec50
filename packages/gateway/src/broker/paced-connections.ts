/**
 * Bounds how many connections open and end in one turn of the event loop. A fleet behind a router or a load balancer
 * comes and goes at once; the system then reports a thousand connections in one turn.
 */
import type { Duplex } from "node:stream";
import { TurnQuota } from "./turn-quota.ts";

/** A sign-in costs about a millisecond of the gateway in several turns, an end a tenth of that. */
const arrivals = new TurnQuota(16);
const ends = new TurnQuota(64);

/** Runs `read` when the first bytes of a connection may be read. */
export function paceArrival(read: () => void): void {
  arrivals.run(read);
}

/** Delays the end of the stream or its loss, as the system reports it, if many end in this turn. */
export function paceEnd(stream: Duplex): void {
  const push = stream.push.bind(stream);
  const destroy = stream.destroy.bind(stream);
  stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk !== null) return push(chunk, encoding);
    ends.run(() => {
      if (!stream.destroyed) push(null);
    });
    return false;
  };
  stream.destroy = (error?: NodeJS.ErrnoException) => {
    if (error?.syscall === undefined) return destroy(error);
    ends.run(() => {
      destroy(error);
    });
    return stream;
  };
}

import { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { paceEnd } from "../src/broker/paced-connections.ts";

const connections = 150;

function open(): Duplex {
  const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  stream.on("error", () => undefined);
  paceEnd(stream);
  return stream.resume();
}

/** How many streams have ended after each turn of the event loop, until all have. */
async function endsByTurn(streams: readonly Duplex[], hasEnded: (stream: Duplex) => boolean) {
  const counts: number[] = [];
  while (counts.at(-1) !== streams.length) {
    await nextTurn();
    counts.push(streams.filter(hasEnded).length);
  }
  return counts;
}

it.each([
  ["ended by the other side", (stream: Duplex) => stream.push(null)],
  [
    "lost",
    (stream: Duplex) => stream.destroy(Object.assign(new Error("read ECONNRESET"), { syscall: "read" })),
  ],
])("connections that are %s at once end in several turns", async (_, end) => {
  const streams = Array.from({ length: connections }, open);
  for (const stream of streams) end(stream);
  const counts = await endsByTurn(streams, (stream) => stream.readableEnded || stream.destroyed);
  expect(counts.length).toBeGreaterThan(1);
  expect(counts[0]).toBeLessThan(connections);
});

it.each([[undefined], [new Error("not a packet")]])("the gateway ends connections at once (%s)", (error) => {
  const streams = Array.from({ length: connections }, open);
  for (const stream of streams) stream.destroy(error);
  expect(streams.every(({ destroyed }) => destroyed)).toBe(true);
});

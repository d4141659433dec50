// What a server spends on the calls of a load process.
import { startServer } from "../process.mjs";
import { pause } from "./rounds.mjs";

/** What the server does after the last answer: history, events. */
const afterMs = 250;
const warmCalls = 15_000;

export async function startLoad() {
  const server = await startServer("./servers/load.mjs");
  const ask = async (order) => {
    const answer = await server.ask(order);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  };
  return {
    /** Requests under a name: `{port, requests, expected}`. A caller sends every `parallel`-th of them. */
    prepare: async (name, requests) => await ask({ what: "prepare", name, ...requests }),
    /** Calls until the compiler has seen enough of them; on a busy machine a second of calls may be few. */
    async warm(name, parallel) {
      let count = 0;
      for (let slices = 0; count < warmCalls && slices < 15; slices += 1)
        count += (await ask({ what: "call", name, parallel, seconds: 1 })).count;
    },
    streams: async (port, request, count) => await ask({ what: "streams", port, request, count }),
    /** One slice of calls; adds the processor time of the measured server. */
    call: async (measured, name, slice) => await cpuOf(measured, () => ask({ what: "call", name, ...slice })),
    echo: async (measured, slice) => await cpuOf(measured, () => ask({ what: "echo", ...slice })),
    /** Calls over an MCP endpoint. */
    frames: async (measured, slice) => await cpuOf(measured, () => ask({ what: "frames", ...slice })),
    stop: async () => await server.stop(),
  };
}

async function cpuOf(server, run) {
  const before = await server.cpuMs();
  const result = await run();
  await pause(afterMs);
  const cpuMs = (await server.cpuMs()) - before;
  return { ...result, cpuMsEach: cpuMs / result.count };
}

/** "5,210 /s, p50 1.2 ms, p99 3.4 ms, 712 bytes" of the middle round. */
export function describeCalls(results) {
  const middle = results.toSorted((a, b) => a.cpuMsEach - b.cpuMsEach)[results.length >> 1];
  const { perSecond, p50, p99, bytesEach } = middle;
  const refused = results.reduce((all, result) => all + result.refused, 0);
  const note = refused === 0 ? "" : `, ${refused} refused`;
  return `${Math.round(perSecond)} /s, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, ${Math.round(bytesEach)} bytes${note}`;
}

export function each(results, key) {
  return results.map((result) => result[key]);
}

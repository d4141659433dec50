// A call at the node that has the device, a call at another node, and a raw request-reply on the same NATS with the
// very bytes that travel between the nodes. The three take turns in short slices, so that whatever else the machine
// does hurts them alike; figures are medians of the slices. One raw question right after the other is the cheapest
// NATS there is: nobody ever sleeps. Calls come further apart, and waking up is most of what a message costs, so that
// with one in flight raw questions are also asked a millisecond apart. By itself: node bench/cross-node.mjs [rounds] [seconds]
import { fileURLToPath } from "node:url";
import { connect } from "@nats-io/transport-node";
import { cpuOfTreeMs } from "./engine-cpu.mjs";
import { startEngines } from "./engines.mjs";
import { startGateway } from "./harness/gateway.mjs";
import { median } from "./harness/statistics.mjs";
import { load, poster } from "./load.mjs";
import { startServer } from "./process.mjs";
import { connectDevice, macOf } from "./quick-device.mjs";
import { headLine, rowLine } from "./table.mjs";

const fleet = "bench";
const subject = `${fleet}-raw`;
/** Enough that no board is asked more often than the gateway lets it answer, and none by two at a time. */
const boards = 64;
const levels = [
  { parallel: 32, ways: ["raw", "local", "cross"] },
  { parallel: 1, ways: ["raw", "apart", "local", "cross"] },
];
const names = {
  raw: "raw NATS request-reply",
  apart: "raw NATS request-reply, 1 ms apart",
  local: "REST at the device's node",
  cross: "REST at another node",
};
const warmRounds = 4;
const warmSeconds = 1;
/** What a slice has left to do when its last answer is there: history, events. */
const settleMs = 250;
const idleMs = 2_000;
const tool = "self.audio_speaker.set_volume";

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The question and the answer of one call between nodes, as they are on the wire. */
async function overhear(engines, makeCall) {
  const connection = await connect({ servers: `127.0.0.1:${engines.natsPort}` });
  const heard = new Promise((resolve) => {
    let question;
    connection.subscribe(">", {
      callback: (_error, message) => {
        if (message.subject.startsWith(`${fleet}.device.`)) question = message;
        else if (question !== undefined && message.subject === question.reply)
          resolve({ question: question.string(), answer: message.string() });
      },
    });
  });
  await connection.flush();
  await makeCall();
  const bytes = await heard;
  await connection.close();
  return bytes;
}

async function openSite(engines) {
  const settings = { storage: engines.storage, cluster: `${engines.cluster}/${fleet}` };
  const holder = await startGateway(settings);
  const other = await startGateway(settings);
  const sockets = await Promise.all(
    Array.from({ length: boards }, (_, index) => connectDevice(holder.devices, index)),
  );
  const { post, close } = poster(boards, { authorization: `Bearer ${holder.token}` });
  const callAt = (node, index) =>
    post(`${node.url}/api/v1/devices/${macOf(index)}/tools/${tool}/call`, { arguments: { volume: 30 } });
  const callsAt = (node, parallel) => {
    const asked = new Array(parallel).fill(0);
    return (worker) => {
      asked[worker] += 1;
      return callAt(node, (worker + parallel * asked[worker]) % boards);
    };
  };
  await untilKnown(other, holder.token);
  const { question, answer } = await overhear(engines, () => callAt(other, 0));
  const rawEnv = {
    BENCH_NATS: `127.0.0.1:${engines.natsPort}`,
    BENCH_SUBJECT: subject,
    BENCH_QUESTION: question,
    BENCH_ANSWER: answer,
  };
  const answerer = await startServer("./servers/nats-answerer.mjs", rawEnv);
  const asker = await startServer("./servers/nats-asker.mjs", rawEnv);
  const servers = [holder, other, answerer, asker];
  return {
    sizes: `${Buffer.byteLength(question)} bytes there, ${Buffer.byteLength(answer)} back`,
    ways: {
      raw: (parallel, seconds) => asker.ask({ parallel, seconds }),
      apart: (parallel, seconds) => asker.ask({ parallel, seconds, apart: true }),
      local: (parallel, seconds) => load({ parallel, seconds, work: callsAt(holder, parallel) }),
      cross: (parallel, seconds) => load({ parallel, seconds, work: callsAt(other, parallel) }),
    },
    async cpuMs() {
      const own = await Promise.all(servers.map((server) => server.cpuMs()));
      const engine = cpuOfTreeMs(engines.natsPid) + cpuOfTreeMs(engines.postgresPid);
      return own.reduce((all, each) => all + each, engine);
    },
    async stop() {
      close();
      for (const socket of sockets) socket.terminate();
      for (const server of servers) await server.stop();
    },
  };
}

async function untilKnown({ url }, token) {
  for (let tries = 0; tries < 100; tries += 1) {
    const response = await fetch(`${url}/api/v1/devices?limit=200`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { devices } = await response.json();
    if (devices.filter(({ online, toolCount }) => online && toolCount > 0).length === boards) return;
    await pause(100);
  }
  throw new Error("the other node does not know the devices");
}

/** Processor time of work, without what all of them spend in the same time when nothing is asked. */
async function cpuOf(site, idleShare, work) {
  const from = performance.now();
  const before = await site.cpuMs();
  const result = await work();
  await pause(settleMs);
  const cpuMs = (await site.cpuMs()) - before;
  return { result, cpuMs: cpuMs - idleShare * (performance.now() - from) };
}

async function slice(site, way, parallel, seconds, idleShare) {
  const { result, cpuMs } = await cpuOf(site, idleShare, () => site.ways[way](parallel, seconds));
  return { ...result, cpuMsEach: cpuMs / result.count };
}

async function compare(site, { parallel, ways }, rounds, seconds, idleShare) {
  const slices = Object.fromEntries(ways.map((way) => [way, []]));
  for (let round = 0; round < rounds; round += 1) {
    // Whoever comes first comes second next time.
    for (let turn = 0; turn < ways.length; turn += 1) {
      const way = ways[(round + turn) % ways.length];
      slices[way].push(await slice(site, way, parallel, seconds, idleShare));
    }
  }
  return slices;
}

function figuresOf(slices) {
  const of = (what) => median(slices.map((each) => each[what]));
  return { perSecond: of("perSecond"), p50: of("p50"), p99: of("p99"), cpuMsEach: of("cpuMsEach") };
}

/** What the call at another node has beside it in the same round: a raw question and a call at the device's node. */
function beside(slices, raw, what) {
  return slices.cross.map((_, round) => slices[raw][round][what] + slices.local[round][what]);
}

/** Of one round each, so that what a busy second did to one way it did to all. */
function ratiosOf(slices, raw) {
  return ["p50", "p99", "cpuMsEach"].map((what) => {
    const base = beside(slices, raw, what);
    return median(slices.cross.map((cross, round) => cross[what] / base[round])).toFixed(2);
  });
}

/** `print` gets the lines of a table. Returns the rows of the bench. */
export async function benchCrossNode({ rounds, seconds, print }) {
  const engines = await startEngines();
  const results = {};
  try {
    const site = await openSite(engines);
    print(`between nodes: ${site.sizes}; CPU of all gateways, NATS and PostgreSQL`);
    // What runs for the first time is slow, and a node that is called less often stays so for longer.
    for (let round = 0; round < warmRounds; round += 1)
      for (const way of ["raw", "local", "cross"]) await site.ways[way](32, warmSeconds);
    const { cpuMs } = await cpuOf(site, 0, () => pause(idleMs));
    const idleShare = cpuMs / (idleMs + settleMs);
    for (const level of levels) {
      const slices = await compare(site, level, rounds, seconds, idleShare);
      for (const way of level.ways)
        print(rowLine(`${names[way]}, ${level.parallel} in flight`, figuresOf(slices[way])));
      for (const raw of level.ways.filter((way) => way === "raw" || way === "apart")) {
        const [p50, p99, cpu] = ratiosOf(slices, raw);
        const sum = `${raw === "raw" ? "raw" : "raw 1 ms apart"} + device's node`;
        print(`  another node / (${sum}): p50 ${p50}, p99 ${p99}, CPU ${cpu}`);
      }
      const raw = level.parallel === 1 ? "apart" : "raw";
      for (const [key, what] of [
        ["cpu", "cpuMsEach"],
        ["p50", "p50"],
      ])
        results[`cross-node-${key}-${level.parallel}`] = {
          values: slices.cross.map((slice) => slice[what]),
          baselines: beside(slices, raw, what),
          detail: site.sizes,
        };
    }
    await site.stop();
  } finally {
    await engines.stop();
  }
  return results;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(headLine());
  const [, , rounds = "9", seconds = "0.6"] = process.argv;
  await benchCrossNode({ rounds: Number(rounds), seconds: Number(seconds), print: console.log });
  process.exit(0);
}

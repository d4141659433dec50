// Watches the main thread of this process from outside: a thread that does not come back to its event loop cannot
// measure itself. Only the main thread's own CPU time counts, so a loaded machine is not a stall.
import fs from "node:fs";
import { Session } from "node:inspector";
import { workerData } from "node:worker_threads";

const { turns, port, boundMs } = workerData;
const sampleMs = 20;
const framesShown = 12;
/** Reading the scripts of a whole gateway takes the debugger a moment. */
const stackWaitMs = 3_000;
const schedulerFile = `/proc/self/task/${process.pid}/schedstat`;
const ownFrames = /stall-watch|node:internal/;

/** Where the system does not tell one thread's time, the time of the whole process. */
function mainThreadMs() {
  try {
    return Number(fs.readFileSync(schedulerFile, "utf8").split(" ")[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}

/** The functions under way in the main thread; none if it came back before the debugger could stop it. */
async function stackOfMainThread() {
  const session = new Session();
  session.connectToMainThread();
  try {
    return await new Promise((resolve) => {
      const late = setTimeout(() => resolve([]), stackWaitMs);
      session.on("Debugger.paused", ({ params }) => {
        clearTimeout(late);
        resolve(params.callFrames.map(({ functionName, url }) => `${functionName || "(no name)"} ${url}`));
        session.post("Debugger.resume");
      });
      session.post("Debugger.enable");
      session.post("Debugger.pause");
    });
  } finally {
    session.post("Debugger.disable");
    session.disconnect();
  }
}

/** No gateway is ready. */
const off = 0;
let seen = off;
let began = 0;
let stack;
for (;;) {
  await new Promise((resolve) => setTimeout(resolve, sampleMs));
  const turn = Atomics.load(turns, 0);
  const now = mainThreadMs();
  if (turn === off || turn !== seen) {
    if (stack !== undefined) port.postMessage({ busyMs: Math.round(now - began), stack });
    stack = undefined;
    seen = turn;
    began = now;
  } else if (stack === undefined && now - began > boundMs) {
    stack = (await stackOfMainThread()).filter((frame) => !ownFrames.test(frame)).slice(0, framesShown);
  }
}

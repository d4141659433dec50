// Loaded into `tendon serve` with --import, so that the gateway is measured as it is shipped: answers questions about
// the process, and watches its event loop while asked to.
import fs from "node:fs";
import process from "node:process";
import { settledMemory } from "./memory.mjs";

const tickMs = 5;
let watch;

/** How long this thread was ready to run and had no processor. 0 where the system does not tell. */
function waitedMs() {
  try {
    return Number(fs.readFileSync("/proc/self/schedstat", "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}

function startWatch() {
  const seen = { stallMs: 0, rawStallMs: 0, rssKb: process.memoryUsage.rss() / 1024, rssPeakKb: 0 };
  let last = performance.now();
  let waited = waitedMs();
  const look = () => {
    const now = performance.now();
    const waitedNow = waitedMs();
    const gap = now - last - tickMs;
    seen.rawStallMs = Math.max(seen.rawStallMs, gap);
    // A busy machine that does not run the process is not the process's stall.
    seen.stallMs = Math.max(seen.stallMs, gap - (waitedNow - waited));
    seen.rssPeakKb = Math.max(seen.rssPeakKb, process.memoryUsage.rss() / 1024);
    last = now;
    waited = waitedNow;
  };
  const timer = setInterval(look, tickMs);
  return () => {
    clearInterval(timer);
    look();
    return seen;
  };
}

const answers = {
  cpu() {
    const { user, system } = process.cpuUsage();
    return { cpuMs: (user + system) / 1000 };
  },
  memory: settledMemory,
  watch() {
    watch = startWatch();
    return {};
  },
  watched() {
    return watch();
  },
};

async function answer(question) {
  // At once: a gateway with thousands of devices takes its time to close their connections.
  if (question === "stop") process.exit(0);
  process.send(await answers[question]());
}

process.on("message", (question) => void answer(question));
process.on("disconnect", () => process.exit(0));

import process from "node:process";

/** V8 gives pages back after a collection, not in it. */
const releaseMs = 300;

/** What the process holds when what it no longer needs is gone. Needs --expose-gc. */
export async function settledMemory() {
  for (let time = 0; time < 2; time += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, releaseMs));
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rssKb: rss / 1024, heapKb: heapUsed / 1024, externalKb: external / 1024 };
}

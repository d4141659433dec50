// A process that answers a line with a line, and what it costs, read from outside: it is measured as it is shipped.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { cpuOfMs, rssOfMb } from "./harness/measured-process.mjs";

export async function startLineServer(file, args, cwd) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const started = performance.now();
  const child = spawn(process.execPath, [path, ...args], { cwd, stdio: ["pipe", "pipe", "ignore"] });
  let heard;
  let lines = 0;
  child.stdout.on("data", (chunk) => {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
    heard?.();
  });
  /** Resolves when so many lines have come since the last time. */
  const hear = async (count) => {
    while (lines < count) {
      await new Promise((resolve) => {
        heard = resolve;
      });
    }
    lines -= count;
  };
  await hear(1);
  return {
    startMs: performance.now() - started,
    async ask(text, count = 1) {
      child.stdin.write(text);
      await hear(count);
    },
    cpuMs: () => cpuOfMs(child.pid),
    rssMb: () => rssOfMb(child.pid),
    async stop() {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await gone;
    },
  };
}

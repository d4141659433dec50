// A process that answers a line with a line, and what it costs, read from outside: it is measured as it is shipped.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { fileURLToPath } from "node:url";

/** Clock ticks of /proc are hundredths of a second on every Linux that Node runs on. */
const tickMs = 10;

export async function startLineServer(file, args, cwd) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const started = performance.now();
  const child = spawn(process.execPath, [path, ...args], { cwd, stdio: ["pipe", "pipe", "inherit"] });
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
    cpuMs() {
      const fields = fs.readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1].split(" ");
      return (Number(fields[11]) + Number(fields[12])) * tickMs;
    },
    rssMb() {
      const status = fs.readFileSync(`/proc/${child.pid}/status`, "utf8");
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
    },
    async stop() {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await gone;
    },
  };
}

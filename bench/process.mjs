import { fork } from "node:child_process";

const running = new Set();

/** Ends what a measurement that failed has left running. */
export async function endProcesses() {
  const ended = [...running].map((child) => new Promise((resolve) => child.once("exit", resolve)));
  for (const child of running) child.kill("SIGKILL");
  await Promise.all(ended);
}

/** Longer than any measurement takes. */
const answerMs = 15 * 60_000;

/** Asks over IPC, one question at a time. A process that ends or hangs instead of answering fails the question. */
export function askable(child, name) {
  running.add(child);
  child.once("exit", () => running.delete(child));
  const next = () =>
    new Promise((resolve, reject) => {
      const ended = (code, signal) => reject(new Error(`${name} ended (${signal ?? code})`));
      const timer = setTimeout(() => reject(new Error(`${name} does not answer`)), answerMs);
      child.once("exit", ended);
      child.once("message", (answer) => {
        clearTimeout(timer);
        child.off("exit", ended);
        resolve(answer);
      });
    });
  const ask = async (question) => {
    const answer = next();
    child.send(question);
    return await answer;
  };
  return {
    next,
    ask,
    pid: child.pid,
    cpuMs: async () => (await ask("cpu")).cpuMs,
    memoryKb: async () => await ask("memory"),
    async stop() {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.send("stop");
      await gone;
    },
  };
}

/** Starts a measured server and speaks with it. */
export async function startServer(file, env = {}) {
  const child = fork(new URL(file, import.meta.url), {
    execArgv: ["--expose-gc"],
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const { next, ...server } = askable(child, file);
  const { ready } = await next();
  return { ...ready, ...server };
}

import { fork } from "node:child_process";

/** Starts a measured server and speaks with it. */
export async function startServer(file, env = {}) {
  const child = fork(new URL(file, import.meta.url), {
    execArgv: ["--expose-gc"],
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const next = () => new Promise((resolve) => child.once("message", resolve));
  const { ready } = await next();
  const ask = async (question) => {
    const answer = next();
    child.send(question);
    return await answer;
  };
  return {
    ...ready,
    ask,
    cpuMs: async () => (await ask("cpu")).cpuMs,
    memoryKb: async () => await ask("memory"),
    async stop() {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.send("stop");
      await gone;
    },
  };
}

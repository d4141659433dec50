// A measured server runs in a process of its own and answers questions about itself over IPC.
import process from "node:process";
import { settledMemory } from "./memory.mjs";

export function reportTo(parent, ready) {
  parent.on("message", (question) => {
    if (question === "cpu") {
      const { user, system } = process.cpuUsage();
      parent.send({ cpuMs: (user + system) / 1000 });
    } else if (question === "memory") {
      void settledMemory().then((memory) => parent.send(memory));
    } else if (question === "stop") {
      process.exit(0);
    }
  });
  parent.on("disconnect", () => process.exit(0));
  parent.send({ ready });
}

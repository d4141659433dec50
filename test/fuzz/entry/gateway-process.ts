/** The gateway in a process of its own, so that its CPU time and its heap are not those of the fuzzer. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { startTendon } from "@tendon/gateway";
import { pino } from "pino";
import { heapAfterCollection, threadCpuMs } from "../cpu.ts";
import { fuzzConfig } from "./site-config.ts";

export interface Figures {
  /** The longest turn of the event loop since the last question, in CPU time. */
  readonly longestTurnMs: number;
  /** After a full collection, if it was asked for. */
  readonly heapBytes: number | undefined;
  /** Uncaught errors, and errors in the log. */
  readonly faults: readonly string[];
}

export interface Started {
  readonly url: string;
  readonly mqttPort: number;
}

export type Question = { readonly ask: "figures"; readonly collect: boolean } | { readonly ask: "stop" };

let faults: string[] = [];
let [longest, last] = [0, threadCpuMs()];

function turn(): void {
  const now = threadCpuMs();
  longest = Math.max(longest, now - last);
  last = now;
  setImmediate(turn);
}

function figures(collect: boolean): Figures {
  const heapBytes = collect ? heapAfterCollection() : undefined;
  const answer = { longestTurnMs: longest, heapBytes, faults };
  // The collection is not a turn of the gateway.
  [longest, last, faults] = [0, threadCpuMs(), []];
  return answer;
}

const [adminToken = "", lines = "", mcp = ""] = process.argv.slice(2);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-fuzz-"));
for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (error: unknown) =>
    faults.push(error instanceof Error ? String(error.stack) : String(error)),
  );
}
const logger = pino({ level: "error" }, { write: (line) => faults.push(line) });
const tendon = await startTendon(
  {
    data: folder,
    http: { port: 0 },
    mqtt: { port: 0 },
    voice: { udpPort: 0 },
    ...fuzzConfig([Number(lines), Number(mcp)]),
  },
  { adminToken, logger },
);

process.on("message", (question: Question) => {
  if (question.ask === "figures") {
    process.send?.(figures(question.collect));
    return;
  }
  void tendon.stop().finally(() => process.exit(0));
});
process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
// Without its parent it would stay forever.
process.on("disconnect", () => process.exit(1));
setImmediate(turn);
const mqttPort = Number(new URL(tendon.addresses.mqtt).port);
process.send?.({ url: tendon.url, mqttPort } satisfies Started);

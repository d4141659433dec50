// A line-JSON program as a device. It writes the number of each call to a file before it does anything else.
import fs from "node:fs";
import readline from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

const ranFile = process.argv[2];
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

say({
  type: "ready",
  version: "1.0.0",
  tools: [
    {
      name: "self.count.add",
      description: "Counts a call.",
      input_schema: {
        type: "object",
        properties: { number: { type: "integer" }, act: { type: "string" }, ms: { type: "integer" } },
        required: ["number"],
      },
    },
  ],
});

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { type, id, args } = JSON.parse(line);
  if (type === "quit") process.exit(0);
  if (type === "call") void run(id, args);
});

async function run(id, { number, act, ms = 0 }) {
  fs.appendFileSync(ranFile, `${number}\n`);
  if (act === "drop") process.exit(1);
  if (act === "garbage") process.stdout.write("not JSON\n");
  if (ms > 0) await pause(ms);
  if (act === "fail") say({ type: "error", id, ok: false, error: "it failed" });
  else say({ type: "result", id, ok: true, result: { number } });
  if (act === "twice") say({ type: "result", id, ok: true, result: { number } });
}

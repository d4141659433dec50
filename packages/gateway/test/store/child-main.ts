import { once } from "node:events";
import fs from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { systemClock } from "../../src/clock.ts";
import { openStore } from "../../src/store/store.ts";
import type { Place } from "./databases.ts";
import { call, device, token } from "./samples.ts";

/** Written synchronously, so that no output is lost with the process. */
function say(line: string): void {
  fs.writeSync(1, `${line}\n`);
}

async function main({ task, ...place }: Place & { task: "open" | "write" }): Promise<void> {
  say("ready");
  await once(process.stdin, "data");
  const onProblem = (problem: object) => say(`problem ${JSON.stringify(problem)}`);
  const store = await openStore({ ...place, clock: systemClock, onProblem });
  if (task === "open") {
    await store.close();
    say("done");
    process.exit(0);
  }
  for (let number = 0; ; number += 1) {
    await store.devices.save(device(number));
    say(`device ${number}`);
    await store.tokens.create(token(number));
    say(`token ${number}`);
    const at = Date.now();
    store.calls.append(call(number, { at }));
    say(`call ${number} ${at}`);
    await nextTurn();
  }
}

await main(JSON.parse(process.argv[2] ?? "{}") as Parameters<typeof main>[0]);

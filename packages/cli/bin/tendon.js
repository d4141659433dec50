#!/usr/bin/env node
// Committed as it is, so that `npm ci` can link it before anything is built.
import { existsSync } from "node:fs";

const built = new URL("../bundle/index.js", import.meta.url);
if (existsSync(built)) {
  const { main } = await import(built.href);
  const unsettled = 13;
  let done = false;
  // The last line of defence: something was waited for that will never come, and Node would leave without a word.
  process.once("exit", () => {
    if (done || (process.exitCode !== undefined && process.exitCode !== unsettled)) return;
    process.exitCode = 1;
    process.stderr.write(
      "tendon: this is a bug, please report it:\nthe command ended without an answer, waiting for something that never came\n",
    );
  });
  await main(process.argv);
  done = true;
} else {
  process.stderr.write(
    "tendon is not built yet: run `npm run build` (or `npm start`) in the checkout first.\n",
  );
  process.exitCode = 1;
}

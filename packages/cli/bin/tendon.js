#!/usr/bin/env node
// Committed in this form, so that `npm ci` can link it before the first build.
import { existsSync } from "node:fs";

const built = new URL("../bundle/index.js", import.meta.url);
if (existsSync(built)) {
  const { main } = await import(built.href);
  const unsettled = 13;
  let done = false;
  // If the command waits for something that never comes, Node exits without a message. Report it instead.
  process.once("exit", () => {
    if (done || (process.exitCode !== undefined && process.exitCode !== unsettled)) return;
    process.exitCode = 1;
    process.stderr.write(
      "tendon: unexpected error. This is a bug, please report it:\nthe command ended before it had a result\n",
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

#!/usr/bin/env node
// Committed as it is, so that `npm ci` can link it before anything is built.
import { existsSync } from "node:fs";

const built = new URL("../dist/index.js", import.meta.url);
if (existsSync(built)) {
  const { main } = await import(built.href);
  await main(process.argv);
} else {
  process.stderr.write(
    "tendon is not built yet: run `npm run build` (or `npm start`) in the checkout first.\n",
  );
  process.exitCode = 1;
}

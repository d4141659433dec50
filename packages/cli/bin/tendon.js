#!/usr/bin/env node
// Committed in this form, so that `npm ci` can link it before the first build. It is CommonJS, because Node takes longer
// to start with an ES module, and the simulated home needs none.
const { existsSync } = require("node:fs");
const path = require("node:path");

const bundle = path.join(__dirname, "..", "bundle");

async function start(argv) {
  if (argv[2] === "home") {
    const lines = require(path.join(bundle, "home-lines.cjs")).runLineServer(argv);
    if (lines !== undefined) return await lines;
  }
  const { main } = await import("../bundle/index.js");
  return await main(argv);
}

if (existsSync(path.join(bundle, "index.js"))) {
  let done = false;
  // If the command waits for something that never comes, Node exits without a message. Report it instead.
  process.once("exit", (code) => {
    if (done || code !== 0 || process.exitCode !== undefined) return;
    process.exitCode = 1;
    process.stderr.write(
      "tendon: unexpected error. This is a bug, please report it:\nthe command ended before it had a result\n",
    );
  });
  void start(process.argv).then(() => {
    done = true;
  });
} else {
  process.stderr.write(
    "tendon is not built yet: run `npm run build` (or `npm start`) in the checkout first.\n",
  );
  process.exitCode = 1;
}

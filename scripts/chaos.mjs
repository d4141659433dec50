// `npm run chaos`: devices and nodes die at random for ten minutes while calls flow. CHAOS_SECONDS and CHAOS_SEED set
// how long, and which run.
import { spawnSync } from "node:child_process";
import { prepareServers } from "./test-servers.mjs";

if (!prepareServers()) process.exit(1);
const { status } = spawnSync("npx", ["vitest", "run", "test/cluster/chaos.test.ts"], {
  stdio: "inherit",
  env: { CHAOS_SECONDS: "600", ...process.env },
  shell: process.platform === "win32",
});
process.exit(status ?? 1);

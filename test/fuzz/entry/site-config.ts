import path from "node:path";
import type { ConfigInput } from "@tendon/gateway";

/** Settings of a gateway under test. `ports`: where its programs get their lines. */
export function fuzzConfig([lines, mcp]: readonly [lines: number, mcp: number]) {
  const pipe = path.resolve("test/programs/pipe.mjs");
  const command = process.execPath;
  const rate = { perSecond: 1_000_000, burst: 10_000_000 };
  return {
    devices: {
      admission: "open",
      stdio: [
        { alias: "program", command, args: [pipe, String(lines)] },
        { alias: "mcp-program", command, args: [pipe, String(mcp)], protocol: "mcp" },
      ],
    },
    calls: { timeoutMs: 300 },
    // Rates have tests of their own; here each input should get past them.
    limits: { principal: rate, address: rate, failedSignIns: rate },
    // A changed tool would stay in quarantine for the rest of the run.
    access: { quarantine: false },
  } satisfies ConfigInput;
}

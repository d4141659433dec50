import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { SuiteSequencer } from "./test/suite-sequencer.ts";

/** They measure the whole process (open files, sockets, CPU time), so each has one of its own. */
const wholeProcess = [
  "test/voice/leaks.test.ts",
  "test/http-pipelining.test.ts",
  "test/shutdown.test.ts",
  "test/mcp/large-fleet.test.ts",
  "test/mqtt-fleet.test.ts",
];
const conditions = ["@tendon/source", "module", "node", "development|production"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    projects: [
      {
        extends: true as const,
        test: {
          name: "shared",
          include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...wholeProcess],
        },
      },
      {
        extends: true as const,
        test: {
          name: "mqtt5",
          include: ["test/mqtt/*.test.ts", "test/scenarios/mqtt.test.ts"],
          exclude: ["test/mqtt/version-5.test.ts"],
          env: { TENDON_TEST_MQTT_VERSION: "5" },
        },
      },
      { extends: true as const, test: { name: "alone", include: wholeProcess, isolate: true } },
    ],
    setupFiles: ["./test/watches-setup.ts"],
    // Files of one worker share the modules they import: loading the gateway anew for each took longer than its tests.
    // So a test must leave nothing behind in a module or in the process.
    isolate: false,
    // Half of a file's time goes by waiting for browsers, processes and servers: two files a core keep it busy.
    maxWorkers: 2 * Math.max(2, availableParallelism()),
    // Thousands of gateways come and go: with room for one, few of their objects live until the collector comes.
    execArgv: ["--max-semi-space-size=16"],
    // Only a failing test ever takes so long; each wait in it has a shorter end that says what did not come.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    sequence: { sequencer: SuiteSequencer },
    reporters: ["./scripts/suite-reporter.mjs"],
  },
});

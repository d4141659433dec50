import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const conditions = ["@tendon/source", "module", "node", "development|production"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    projects: [
      ...["protocol", "gateway", "simulator", "console", "cli"].map((name) => ({
        extends: true as const,
        test: { name, include: [`packages/${name}/test/**/*.test.ts`] },
      })),
      {
        extends: true as const,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          setupFiles: ["./test/secret-watch-setup.ts"],
        },
      },
    ],
    // Files of one worker share the modules they import: loading the gateway anew for each took longer than its tests.
    // So a test must leave nothing behind in a module or in the process.
    isolate: false,
    // Tests wait for sockets and processes, so a few more files than cores keep the cores busy.
    maxWorkers: Math.max(2, Math.ceil(availableParallelism() * 1.5)),
    // Only a failing test ever takes so long; each wait in it has a shorter end that says what did not come.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ["./scripts/suite-reporter.mjs"],
  },
});

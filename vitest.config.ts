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
    // Much of the time is spent waiting: two files at once also on a machine with two cores.
    maxWorkers: 2,
    // Only a failing test ever takes so long; each wait in it has a shorter end that says what did not come.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ["./scripts/suite-reporter.mjs"],
  },
});

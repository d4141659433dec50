import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** They look at the whole process (its open files and sockets), so they have it to themselves. */
const wholeProcess = ["test/voice/leaks.test.ts", "test/http-pipelining.test.ts", "test/shutdown.test.ts"];
/** They take longest and come first, so that none of them is still running when all others have ended. */
const longest =
  /\/(scenarios|guides|cluster)\/|\/(matrix|secrets-everywhere|examples|palette|entrance)\.test/;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => longest.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
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
      { extends: true as const, test: { name: "alone", include: wholeProcess, isolate: true } },
    ],
    setupFiles: ["./test/secret-watch-setup.ts"],
    // Files of one worker share the modules they import: loading the gateway anew for each took longer than its tests.
    // So a test must leave nothing behind in a module or in the process.
    isolate: false,
    // Tests wait for sockets and processes, so a few more files than cores keep the cores busy.
    maxWorkers: Math.max(2, Math.ceil(availableParallelism() * 1.5)),
    sequence: { sequencer: LongestFirst },
    // Only a failing test ever takes so long; each wait in it has a shorter end that says what did not come.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ["./scripts/suite-reporter.mjs"],
  },
});

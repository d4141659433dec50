import { OperationError, UsageError } from "./errors.ts";

/** Runs a command and reports its error. The exit code is 1 if the operation failed, and 2 for wrong usage. */
export async function reporting(argv: readonly string[], command: () => Promise<void>): Promise<void> {
  // A reader such as `head` may close the pipe early. That is not an error.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
  try {
    await command();
  } catch (error) {
    process.exitCode = report(error, argv.includes("--json"));
  }
}

/** Prints the error without a stack trace and returns the exit code. */
function report(error: unknown, json: boolean): number {
  if (error instanceof UsageError) {
    process.stderr.write(`tendon: ${error.message}\n`);
    return 2;
  }
  if (error instanceof OperationError) {
    if (json && error.problem !== undefined) process.stdout.write(`${JSON.stringify(error.problem)}\n`);
    process.stderr.write(`tendon: ${error.message}\n`);
    return 1;
  }
  if (error instanceof Error && error.name === "StartError") {
    process.stderr.write(`tendon: ${error.message}\n`);
    return 1;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`tendon: unexpected error. This is a bug, please report it:\n${text}\n`);
  return 1;
}

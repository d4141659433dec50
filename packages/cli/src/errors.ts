/** The command line is wrong. Printed with a hint; exit code 2. */
export class UsageError extends Error {}

/** The operation failed. Exit code 1. */
export class OperationError extends Error {
  /** The gateway's problem document if it sent one; `--json` prints it. */
  readonly problem: unknown;

  constructor(message: string, problem?: unknown) {
    super(message);
    this.problem = problem;
  }
}

/** No gateway answers. This may be temporary. */
export class NoGateway extends OperationError {}

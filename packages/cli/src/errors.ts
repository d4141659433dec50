/** The command line was wrong: told with a hint, exit code 2. */
export class UsageError extends Error {}

/** What was asked for did not work: exit code 1. */
export class OperationError extends Error {
  /** The gateway's problem document, where there is one: what `--json` prints. */
  readonly problem: unknown;

  constructor(message: string, problem?: unknown) {
    super(message);
    this.problem = problem;
  }
}

/** Nobody is there to ask; that may pass. */
export class NoGateway extends OperationError {}

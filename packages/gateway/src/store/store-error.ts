import { StartError, TendonError } from "../errors.ts";

/** `unavailable`: the database is unreachable, busy or full; a retry may succeed. `refused`: a retry fails again. */
export type StoreFault = "unavailable" | "refused";

/** Enough for a database to restart, or for the next probe. */
const retryAfterMs = 5_000;

/**
 * Keeps only the message of the database's error, because the errors of the libraries contain values, which may be
 * secrets. Clients get a general text; the log has the message.
 */
export class StoreError extends TendonError {
  readonly fault: StoreFault;
  readonly reason: string;
  /** A retry cannot succeed until the operator changes something, such as a wrong password or a missing database. */
  readonly permanent: boolean;

  constructor(
    fault: StoreFault,
    reason: string,
    { permanent = false }: { readonly permanent?: boolean } = {},
  ) {
    if (fault === "unavailable") {
      super("storage_unavailable", "the database does not answer. Retry in a few seconds.", { retryAfterMs });
    } else {
      super("internal", reason);
    }
    this.name = "StoreError";
    this.fault = fault;
    this.reason = reason;
    this.permanent = permanent;
  }
}

/** A failure of the database while the gateway reads what it stored, as an error of the start with what to do about it. */
export function asStartError(error: unknown, place: string): unknown {
  if (!(error instanceof StoreError)) return error;
  const damaged = /malformed|not a database/.test(error.reason);
  const remedy = damaged ? "Restore it from a backup" : "Check the `storage` setting and the database";
  return new StartError(`The database ${place} cannot be read (${error.reason}). ${remedy}.`);
}

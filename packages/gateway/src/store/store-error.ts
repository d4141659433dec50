import { TendonError } from "../errors.ts";

/** `unavailable`: the database is away, busy or full, and later may do. `refused`: the same again fails again. */
export type StoreFault = "unavailable" | "refused";

/** By then a restarted database is back, or has been asked again. */
const retryAfterMs = 5_000;

/**
 * What the database said is kept as a sentence only: the errors of the libraries carry values, and those may be
 * secrets. Callers are told even less; the log has the sentence.
 */
export class StoreError extends TendonError {
  readonly fault: StoreFault;
  readonly said: string;
  /** Whoever is in charge has to change something first: a wrong password, a database that was never made. */
  readonly hopeless: boolean;

  constructor(fault: StoreFault, said: string, { hopeless = false }: { readonly hopeless?: boolean } = {}) {
    if (fault === "unavailable") {
      super("storage_unavailable", "the database does not answer; this needs it", { retryAfterMs });
    } else {
      super("internal", said);
    }
    this.name = "StoreError";
    this.fault = fault;
    this.said = said;
    this.hopeless = hopeless;
  }
}

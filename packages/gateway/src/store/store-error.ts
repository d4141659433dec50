import { TendonError } from "../errors.ts";

/** `unavailable`: the database is away, busy or full, and later may do. `refused`: the same again fails again. */
export type StoreFault = "unavailable" | "refused";

/**
 * What the database said is kept as a sentence only: the errors of the libraries carry values, and those may be
 * secrets.
 */
export class StoreError extends TendonError {
  readonly fault: StoreFault;

  constructor(fault: StoreFault, detail: string) {
    super("internal", detail, { storage: fault });
    this.name = "StoreError";
    this.fault = fault;
  }
}

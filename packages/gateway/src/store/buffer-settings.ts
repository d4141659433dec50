import type { Clock } from "../clock.ts";
import type { OnProblem } from "./health.ts";

export interface BufferSettings<Row> {
  readonly what: string;
  readonly clock: Clock;
  readonly onProblem: OnProblem;
  readonly delayMs: number;
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly bytesOf: (row: Row) => number;
  /** Merges a pending row with a newer one of the same key. Without it, the newer row replaces the pending one. */
  readonly merge?: (old: Row, newer: Row) => Row;
  /** Must be idempotent: a write is repeated if its reply was lost. */
  readonly write: (rows: readonly Row[]) => Promise<void>;
}

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
  /** What becomes of a row that still waits when another comes under its key; without it, the newer one counts. */
  readonly merge?: (old: Row, newer: Row) => Row;
  /** Must bear being given the same rows again: a write whose answer was lost is repeated. */
  readonly write: (rows: readonly Row[]) => Promise<void>;
}

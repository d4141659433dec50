/**
 * Buffers rows and writes them a little later, in batches. While the database is unavailable they wait in bounded
 * memory. If the buffer is full, the oldest rows are dropped, counted and reported: newer rows are read more often.
 */
import type { Timer } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { BufferSettings } from "./buffer-settings.ts";
import { yieldToEventLoop } from "./engine.ts";
import { StoreError } from "./store-error.ts";

const batchRows = 250;
const batchBytes = 1024 * 1024;
const firstRetryMs = 100;
const longestRetryMs = 5_000;

interface Entry<Row> {
  readonly key: string | undefined;
  row: Row;
}

export class WriteBuffer<Row> {
  readonly #settings: BufferSettings<Row>;
  /** In the order of arrival. */
  #waiting: Entry<Row>[] = [];
  /** Rows with a key. A newer row with the same key replaces or merges with them. */
  readonly #keyed = new Map<string, Entry<Row>>();
  #bytes = 0;
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;
  #writingSince = 0;
  #retryMs = firstRetryMs;
  #lost = 0;
  #lostReported = 0;
  #closed = false;
  #abandoned = false;

  constructor(settings: BufferSettings<Row>) {
    this.#settings = settings;
  }

  /** Rows not yet written. */
  get size(): number {
    return this.#waiting.length;
  }

  get lost(): number {
    return this.#lost;
  }

  push(row: Row, key?: string): void {
    if (this.#closed) {
      this.#lost += 1;
      this.#reportLosses();
      return;
    }
    this.#add({ key, row });
    this.#dropOldest();
    if (this.#writing === undefined) this.#timer ??= this.#later(this.#settings.delayMs);
  }

  /** Writes all buffered rows; rejects if that fails. */
  async flush(): Promise<void> {
    await this.#writing?.catch(() => {});
    if (this.#waiting.length === 0) return;
    await this.#start();
  }

  /** Tries to write once more. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.flush().catch(() => {});
  }

  /** Drops the remaining rows and stops retrying. */
  abandon(): void {
    this.#closed = true;
    this.#abandoned = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    while (this.#waiting.length > 0) this.#drop(this.#waiting.length);
    this.#reportLosses();
  }

  #later(ms: number): Timer {
    return this.#settings.clock.after(ms, () => {
      this.#timer = undefined;
      // Health reports the failure, and the next attempt is already scheduled.
      this.#start().catch(() => {});
    });
  }

  #start(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#writing === undefined) this.#writingSince = this.#settings.clock.monotonic();
    this.#writing ??= this.#drain().then(
      () => this.#finished(undefined),
      (error: unknown) => this.#finished(error),
    );
    return this.#writing;
  }

  #finished(error: unknown): void {
    this.#writing = undefined;
    this.#reportLosses();
    if (error === undefined) {
      this.#retryMs = firstRetryMs;
      // Rows that arrived during the write have already waited for that long.
      const waitedMs = this.#settings.clock.monotonic() - this.#writingSince;
      const leftMs = Math.max(this.#settings.delayMs / 5, this.#settings.delayMs - waitedMs);
      if (this.#waiting.length > 0) this.#timer ??= this.#later(leftMs);
      return;
    }
    if (this.#abandoned) this.abandon();
    else if (!this.#closed) this.#timer ??= this.#later(this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
    throw error;
  }

  /** Writes only the rows that were buffered at the start, so that a steady stream cannot delay `flush` without limit. */
  async #drain(): Promise<void> {
    let left = this.#waiting.length;
    while (left > 0) {
      const batch = this.#take(Math.min(left, batchRows));
      if (batch.length === 0) return;
      left -= batch.length;
      try {
        await this.#write(batch.map(({ row }) => row));
      } catch (error) {
        this.#putBack(batch);
        throw error;
      }
      if (left > 0) await yieldToEventLoop();
    }
  }

  /** Halves a failing batch until the bad row is alone, so that it does not block the others. */
  async #write(rows: readonly Row[]): Promise<void> {
    try {
      await this.#settings.write(rows);
    } catch (error) {
      if (error instanceof StoreError && error.fault === "unavailable") throw error;
      if (rows.length === 1) {
        this.#lost += 1;
        this.#settings.onProblem({ kind: "failed", what: this.#settings.what, detail: messageOf(error) });
        return;
      }
      const middle = rows.length >> 1;
      await this.#write(rows.slice(0, middle));
      await this.#write(rows.slice(middle));
    }
  }

  /** Removes and returns at most `count` of the oldest rows. */
  #take(count: number): Entry<Row>[] {
    let rows = 0;
    let bytes = 0;
    for (const { key, row } of this.#waiting) {
      if (rows === count || bytes > batchBytes) break;
      rows += 1;
      bytes += this.#settings.bytesOf(row);
      if (key !== undefined) this.#keyed.delete(key);
    }
    this.#bytes -= bytes;
    return this.#waiting.splice(0, rows);
  }

  #putBack(batch: readonly Entry<Row>[]): void {
    const newer = this.#waiting;
    this.#waiting = [];
    this.#keyed.clear();
    this.#bytes = 0;
    for (const entry of [...batch, ...newer]) this.#add(entry);
    this.#dropOldest();
  }

  #add(entry: Entry<Row>): void {
    const { bytesOf, merge } = this.#settings;
    const { key, row } = entry;
    const old = key === undefined ? undefined : this.#keyed.get(key);
    if (old === undefined) {
      this.#waiting.push(entry);
      if (key !== undefined) this.#keyed.set(key, entry);
      this.#bytes += bytesOf(row);
    } else {
      this.#bytes -= bytesOf(old.row);
      old.row = merge === undefined ? row : merge(old.row, row);
      this.#bytes += bytesOf(old.row);
    }
  }

  /** Drops in blocks, because moving the remaining rows is too expensive to do for every row. */
  #dropOldest(): void {
    const { maxRows, maxBytes } = this.#settings;
    while (this.#waiting.length > maxRows || (this.#bytes > maxBytes && this.#waiting.length > 1))
      this.#drop(Math.ceil(maxRows / 100));
  }

  #drop(count: number): void {
    this.#lost += this.#take(count).length;
  }

  #reportLosses(): void {
    const count = this.#lost - this.#lostReported;
    if (count === 0) return;
    this.#lostReported = this.#lost;
    this.#settings.onProblem({ kind: "lost", what: this.#settings.what, count, total: this.#lost });
  }
}

/** Counts one direction of a conversation: packets, bytes, losses and jitter, without any content. */
export class Meter {
  packets = 0;
  bytes = 0;
  lost = 0;
  #jitterMs = 0;
  #lastAt: number | undefined;
  #lastGapMs: number | undefined;

  /** A longer gap is a pause between sentences and not jitter. */
  static readonly #pauseMs = 500;

  count(bytes: number, now: number): void {
    this.packets += 1;
    this.bytes += bytes;
    const gapMs = this.#lastAt === undefined ? undefined : now - this.#lastAt;
    this.#lastAt = now;
    if (gapMs === undefined || gapMs > Meter.#pauseMs) {
      this.#lastGapMs = undefined;
      return;
    }
    if (this.#lastGapMs !== undefined) {
      this.#jitterMs += (Math.abs(gapMs - this.#lastGapMs) - this.#jitterMs) / 16;
    }
    this.#lastGapMs = gapMs;
  }

  get view(): { packets: number; bytes: number; lost: number; jitterMs: number } {
    const { packets, bytes, lost } = this;
    return { packets, bytes, lost, jitterMs: Math.round(this.#jitterMs * 10) / 10 };
  }
}

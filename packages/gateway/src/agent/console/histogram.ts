/** Call durations in buckets that grow by a fifth each. Percentiles are accurate to a tenth. */
const growth = 1.2;
const first = 0.5;
const buckets = 80;

const logOfGrowth = Math.log(growth);

/** Separate from `addTo`, so that a duration that is counted in several histograms is computed once. */
export function bucketOf(ms: number): number {
  const at = ms <= first ? 0 : Math.ceil(Math.log(ms / first) / logOfGrowth);
  return Math.min(buckets - 1, at);
}

export class Histogram {
  readonly #counts = new Uint32Array(buckets);
  #total = 0;

  get total(): number {
    return this.#total;
  }

  /** Counts one call in a bucket from `bucketOf`. */
  addTo(bucket: number): void {
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#total += 1;
  }

  merge(other: Histogram): void {
    for (let at = 0; at < buckets; at += 1)
      this.#counts[at] = (this.#counts[at] ?? 0) + (other.#counts[at] ?? 0);
    this.#total += other.#total;
  }

  /** The duration that this share of the calls did not exceed; null without calls. */
  percentile(share: number): number | null {
    if (this.#total === 0) return null;
    let left = Math.ceil(share * this.#total);
    for (let at = 0; at < buckets; at += 1) {
      left -= this.#counts[at] ?? 0;
      if (left <= 0) return Math.round(first * growth ** (at - 0.5) * 100) / 100;
    }
    return null;
  }
}

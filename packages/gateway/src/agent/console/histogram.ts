/** Times of calls in buckets that grow by a fifth each: small, and good for percentiles to within a tenth. */
const growth = 1.2;
const first = 0.5;
const buckets = 80;

export class Histogram {
  readonly #counts = new Uint32Array(buckets);
  #total = 0;

  get total(): number {
    return this.#total;
  }

  add(ms: number): void {
    const at = ms <= first ? 0 : Math.ceil(Math.log(ms / first) / Math.log(growth));
    const bucket = Math.min(buckets - 1, at);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#total += 1;
  }

  merge(other: Histogram): void {
    for (let at = 0; at < buckets; at += 1)
      this.#counts[at] = (this.#counts[at] ?? 0) + (other.#counts[at] ?? 0);
    this.#total += other.#total;
  }

  /** The time that this share of the calls did not exceed; null where there were none. */
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

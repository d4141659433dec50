/** A token bucket: so many a second for long, and a burst beside. */
export class RateGate {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #at: number;

  constructor(perSecond: number, burst: number, now: number) {
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
    this.#tokens = burst;
    this.#at = now;
  }

  /** One more, that was asked for: who asks much must not make the one who answers look like a flood. */
  expectOne(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens) + 1;
  }

  admit(now: number): boolean {
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * this.#perMs);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

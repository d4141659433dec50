/**
 * Reads the credentials of one device again before it is rejected. In a cluster another node may have issued them a moment
 * ago, and a load balancer sends the device anywhere. The rate is bounded, because any client can claim any Device-Id.
 */
import { limits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { TokenBucket } from "../token-bucket.ts";

/** Reads the device from the store and applies its credentials. */
type Read = (deviceId: string) => Promise<void>;

const parallelReads = 16;
/** A fleet that starts at once, and then so many a second. */
const rate = { burst: 10_000, everyMs: 5 };
/** A second attempt within this time gets the result of the first one. */
const freshMs = 500;

export class CredentialRefresh {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  readonly #reads = new Map<string, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #read: Read | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#bucket = new TokenBucket(rate, clock.monotonic());
  }

  /** Without it nothing is read: a single gateway knows all credentials. */
  readWith(read: Read): void {
    this.#read = read;
  }

  /** `undefined` if nothing can be read. Otherwise resolves when the credentials are up to date, or cannot be read now. */
  refresh(deviceId: string): Promise<void> | undefined {
    const read = this.#read;
    if (read === undefined) return undefined;
    const known = this.#reads.get(deviceId);
    if (known !== undefined) return known;
    if (this.#waiting.length >= limits.devicesWaitingForHello.max) return undefined;
    if (!this.#bucket.take(this.#clock.monotonic())) return undefined;
    const reading = this.#inTurn(() => read(deviceId)).catch(() => {});
    this.#reads.set(deviceId, reading);
    void reading.then(() => this.#clock.after(freshMs, () => this.#reads.delete(deviceId)));
    return reading;
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    if (this.#running >= parallelReads) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    this.#running += 1;
    try {
      await work();
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }
}

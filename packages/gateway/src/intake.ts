import { limits } from "@tendon/protocol";
import type { Clock, Timer } from "./clock.ts";
import { TendonError } from "./errors.ts";
import { type BucketRate, perSecond, TokenBucket } from "./token-bucket.ts";

export interface IntakeRates {
  readonly packets: BucketRate;
  readonly bytes: BucketRate;
}

/** How to slow down or end the connection of a peer that sends too much. */
export interface IntakeValve {
  /** Stops reading, so that the peer's own buffers fill. Missing if the connection is shared with other peers. */
  pause?(): void;
  resume?(): void;
  cut(exceeded: "frames" | "bytes"): void;
}

/** What a board may send, beside its answers. */
export const boardRates: IntakeRates = {
  packets: { burst: limits.deviceFrameBurst.max, everyMs: perSecond(limits.deviceFramesPerSecond.max) },
  bytes: { burst: limits.deviceByteBurst.max, everyMs: perSecond(limits.deviceBytesPerSecond.max) },
};

/** What a program may write, beside its answers. */
export const programRates: IntakeRates = {
  packets: { burst: limits.processLineBurst.max, everyMs: perSecond(limits.processLinesPerSecond.max) },
  bytes: { burst: limits.processByteBurst.max, everyMs: perSecond(limits.processBytesPerSecond.max) },
};

const pauseMs = 1_000;
/** Pauses without a recovery in between. After them the peer is not busy but hostile, or stuck in a loop. */
const maxPauses = 5;

/**
 * Counts what one peer sends: every packet and control frame, and every byte. A peer above its rate is paused; a peer
 * that goes on is cut off. Answers to the gateway's own messages do not count.
 */
export class Intake {
  readonly #clock: Clock;
  readonly #rates: IntakeRates;
  readonly #valve: IntakeValve;
  readonly #packets: TokenBucket;
  readonly #bytes: TokenBucket;
  #pauses = 0;
  #pause: Timer | undefined;
  #ended = false;

  constructor(clock: Clock, rates: IntakeRates, valve: IntakeValve) {
    this.#clock = clock;
    this.#rates = rates;
    this.#valve = valve;
    const now = clock.monotonic();
    this.#packets = new TokenBucket(rates.packets, now);
    this.#bytes = new TokenBucket(rates.bytes, now);
  }

  /** The gateway has sent something that the peer may answer with one frame of this size. */
  expectAnswer(bytes: number): void {
    this.#packets.allow(1);
    this.#bytes.allow(bytes);
  }

  /** Counts what was read. Returns false if the peer is cut off, so that nothing more of it is handled. */
  count(packets: number, bytes: number): boolean {
    if (this.#ended) return false;
    const now = this.#clock.monotonic();
    const { packets: packetRate, bytes: byteRate } = this.#rates;
    const debt = packetRate.burst / 2;
    this.#packets.charge(packets, now, debt);
    this.#bytes.charge(bytes, now, byteRate.burst);
    const packetsLeft = this.#packets.tokens(now);
    const bytesLeft = this.#bytes.tokens(now);
    if (packetsLeft >= 0 && bytesLeft >= 0) {
      if (packetsLeft * 2 >= packetRate.burst && bytesLeft * 2 >= byteRate.burst) this.#pauses = 0;
      return true;
    }
    // What is read already cannot be paused. A chunk full of tiny packets is therefore not handled at all.
    if (this.#valve.pause === undefined || packetsLeft <= -debt) return this.#cut(packetsLeft);
    if (this.#pause !== undefined) return true;
    this.#pauses += 1;
    if (this.#pauses > maxPauses) return this.#cut(packetsLeft);
    this.#valve.pause();
    const waitMs = Math.max(pauseMs, this.#packets.waitMs(now), this.#bytes.waitMs(now));
    this.#pause = this.#clock.after(waitMs, () => {
      this.#pause = undefined;
      this.#valve.resume?.();
    });
    return true;
  }

  /** The connection has ended. */
  end(): void {
    this.#ended = true;
    this.#pause?.cancel();
  }

  #cut(packetsLeft: number): false {
    this.end();
    this.#valve.cut(packetsLeft < 0 ? "frames" : "bytes");
    return false;
  }
}

/** The connection of a device that was cut off a moment ago. Counted but not logged, because it may come at any rate. */
export class FlooderRefused extends TendonError {
  constructor(retryAfterMs: number) {
    super(limits.floodRestMs.error, "the device was cut off because it sends too much; retry later", {
      retryAfterMs,
    });
  }
}

/** Devices that were cut off. Without a rest, each return would cost as much as the flood that it may send. */
export interface Flooders {
  cutOff(deviceId: string): void;
  /** Throws `FlooderRefused` if the device may not return yet. */
  requireRest(deviceId: string): void;
}

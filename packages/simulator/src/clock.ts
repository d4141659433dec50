/** Time as the simulator sees it; tests hand in their own. */
export interface Clock {
  now(): number;
  /** Runs `task` once after `ms`. */
  after(ms: number, task: () => void): { cancel(): void };
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

/**
 * The timers of one owner, so that stopping it leaves none behind. A sleep that is cleared never settles:
 * whoever awaited it belongs to the life that has just ended.
 */
export class Timers {
  readonly #clock: Clock;
  readonly #cancels = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  after(ms: number, task: () => void): () => void {
    const cancel = (): void => {
      this.#cancels.delete(cancel);
      timer.cancel();
    };
    const timer = this.#clock.after(ms, () => {
      this.#cancels.delete(cancel);
      task();
    });
    this.#cancels.add(cancel);
    return cancel;
  }

  async sleep(ms: number): Promise<void> {
    if (ms <= 0) return;
    await new Promise<void>((resolve) => {
      this.after(ms, resolve);
    });
  }

  clear(): void {
    for (const cancel of [...this.#cancels]) cancel();
  }
}

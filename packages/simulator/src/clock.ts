/** The simulator's time source. Tests pass their own. */
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
 * The timers of one owner, so that stopping it clears all of them. A cleared sleep never settles, because the code that
 * awaits it belongs to a run of the device that has just ended.
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

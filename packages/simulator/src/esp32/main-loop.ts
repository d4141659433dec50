export type Task = () => void | Promise<void>;

/**
 * The device's main task. It takes everything queued so far as one batch, runs the batch to its end, then takes the next
 * one. A task that returns a promise blocks all later tasks, as a slow tool does on the chip. Replies are tasks too, so
 * they can overtake calls, and a reboot drops the replies after it.
 */
export class MainLoop {
  readonly #onFailure: (error: unknown) => void;
  #queue: Task[] = [];
  #running = false;
  #life = 0;
  #waiters: (() => void)[] = [];

  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** Changes whenever the device loses power, so that work from before has no effect afterwards. */
  get life(): number {
    return this.#life;
  }

  schedule(task: Task): void {
    this.#queue.push(task);
    if (this.#running) return;
    this.#running = true;
    const life = this.#life;
    // Deferred, because frames that arrived together are all read before the main task wakes up.
    setImmediate(() => void this.#drain(life));
  }

  /** Resolves when nothing is queued or running. */
  async idle(): Promise<void> {
    if (!this.#running) return;
    await new Promise<void>((resolve) => {
      this.#waiters.push(resolve);
    });
  }

  powerOff(): void {
    this.#life += 1;
    this.#queue = [];
    this.#rest();
  }

  async #drain(life: number): Promise<void> {
    while (life === this.#life && this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      for (const task of batch) {
        if (life !== this.#life) return;
        try {
          const pending = task();
          if (pending !== undefined) await pending;
        } catch (error) {
          this.#onFailure(error);
        }
      }
    }
    if (life === this.#life) this.#rest();
  }

  #rest(): void {
    this.#running = false;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }
}

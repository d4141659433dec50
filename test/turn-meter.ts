/** Measures the CPU time of each turn of this process's event loop, without other processes. */
export class TurnMeter {
  #last = cpuMs();
  #running = true;
  #longest = 0;
  #work = 0;

  constructor() {
    const turn = () => {
      const now = cpuMs();
      const took = now - this.#last;
      this.#last = now;
      this.#longest = Math.max(this.#longest, took);
      // Turns with only this measurement are not work.
      if (took > 0.5) this.#work += took;
      if (this.#running) setImmediate(turn);
    };
    setImmediate(turn);
  }

  /** The CPU time of the longest turn so far. */
  get longestMs(): number {
    return this.#longest;
  }

  /** The share of the longest turn in all work. */
  stop(): number {
    this.#running = false;
    return this.#longest / this.#work;
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** How the work of this process is spread over the turns of its loop, in CPU time: what other processes do counts nothing. */
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
      // Turns in which nothing happens but this are not work.
      if (took > 0.5) this.#work += took;
      if (this.#running) setImmediate(turn);
    };
    setImmediate(turn);
  }

  /** The share of all work that the longest turn has had. */
  stop(): number {
    this.#running = false;
    return this.#longest / this.#work;
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

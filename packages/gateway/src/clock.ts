/** Time as it is handed to every room, so that tests can hold it still and move it. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since 1970, for what people and programs are told. */
  now(): number;
  /** Milliseconds that never jump, for measuring. */
  monotonic(): number;
  after(ms: number, run: () => void): Timer;
  every(ms: number, run: () => void): Timer;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return { cancel: () => clearTimeout(timer) };
  },
  every(ms, run) {
    const timer = setInterval(run, ms);
    timer.unref();
    return { cancel: () => clearInterval(timer) };
  },
};

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

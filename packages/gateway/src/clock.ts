/** Time is injected into every module, so that tests can control it. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since 1970, for times that people and programs see. */
  now(): number;
  /** Milliseconds of a monotonic clock, for measuring durations. */
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

let lastMs = Number.NaN;
let lastText = "";

/** Caches the last result: many events happen in one millisecond, and formatting is expensive. */
export function isoTime(ms: number): string {
  if (ms === lastMs) return lastText;
  lastText = new Date(ms).toISOString();
  lastMs = ms;
  return lastText;
}

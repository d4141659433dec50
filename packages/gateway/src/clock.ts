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

let lastMs = Number.NaN;
let lastText = "";

/** Many things happen in one millisecond, and writing a time out costs more than most of them. */
export function isoTime(ms: number): string {
  if (ms === lastMs) return lastText;
  lastText = new Date(ms).toISOString();
  lastMs = ms;
  return lastText;
}

import type { Clock } from "../clock.ts";
import type { DeviceSession } from "../device/device.ts";

const groups = 20;
const shortestMs = 15;
const jitterMs = 30;

/** Tells boards to go. In small groups where other nodes take them in: all at once would be a storm for those. */
export async function sendAway(
  sessions: readonly DeviceSession[],
  inGroups: boolean,
  clock: Clock,
): Promise<void> {
  // Programs are asked to go in their own words.
  const boards = sessions.filter(({ kind }) => kind === "esp32");
  const size = inGroups ? Math.max(1, Math.ceil(boards.length / groups)) : boards.length;
  for (let at = 0; at < boards.length; at += size) {
    for (const session of boards.slice(at, at + size)) session.close(1001, "the gateway is stopping", false);
    if (at + size >= boards.length) return;
    await new Promise<void>((resolve) => {
      clock.after(shortestMs + Math.random() * jitterMs, resolve);
    });
  }
}

/** Waits for the promise, but not longer than this. */
export async function within(clock: Clock, ms: number, promise: Promise<void>): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = clock.after(ms, resolve);
    void promise.finally(() => {
      timer.cancel();
      resolve();
    });
  });
}

import type { Clock } from "../clock.ts";
import type { DeviceSession } from "./device-session.ts";

export interface DrainOptions {
  readonly clock: Clock;
  readonly reason: string;
  /** All boards are disconnected after this time. */
  readonly withinMs: number;
  /** Whether the board has connected to another node. */
  readonly hasMoved: (deviceId: string) => boolean;
  /** Stops with the next group. */
  readonly signal?: AbortSignal | undefined;
}

const groups = 20;
/** A group has moved when this share of its boards has: a few boards take long, or stay away. */
const movedShare = 0.9;
const maxGroupMs = 1_000;
const pollMs = 20;

/**
 * Sends boards to other nodes, in groups: the next one goes when the last one has arrived, so that few boards are on the
 * way at any time, and the other nodes are not flooded. A board with a running call goes when the call has ended, or at
 * the end of the time. Returns the number of boards that were sent.
 */
export async function drainBoards(boards: readonly DeviceSession[], options: DrainOptions): Promise<number> {
  const { clock, reason, withinMs, hasMoved, signal } = options;
  const end = clock.monotonic() + withinMs;
  const size = Math.max(1, Math.ceil(boards.length / groups));
  const waiting = new Set(boards);
  let sent = 0;
  while (waiting.size > 0 && signal?.aborted !== true) {
    const leftMs = end - clock.monotonic();
    const ready = leftMs <= 0 ? [...waiting] : [...waiting].filter(({ busy }) => !busy).slice(0, size);
    for (const session of ready) {
      waiting.delete(session);
      session.close(1001, reason, false);
    }
    sent += ready.length;
    if (waiting.size === 0) break;
    const groupMs = Math.min(maxGroupMs, (leftMs * size) / waiting.size);
    await moved(ready, { clock, withinMs: groupMs, hasMoved });
  }
  return sent;
}

async function moved(
  group: readonly DeviceSession[],
  { clock, withinMs, hasMoved }: Pick<DrainOptions, "clock" | "withinMs" | "hasMoved">,
): Promise<void> {
  const end = clock.monotonic() + withinMs;
  do {
    await new Promise<void>((resolve) => {
      clock.after(pollMs, resolve);
    });
    const there = group.filter(({ deviceId }) => hasMoved(deviceId)).length;
    if (there >= group.length * movedShare) return;
  } while (clock.monotonic() < end);
}

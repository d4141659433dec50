import type { Clock } from "../clock.ts";
import type { DeviceSession } from "./device-session.ts";

const groups = 20;
const shortestMs = 15;
const jitterMs = 30;

/** Closes the connections of boards: in small groups if other nodes take them over, so that those are not flooded. */
export async function drainBoards(
  sessions: readonly DeviceSession[],
  inGroups: boolean,
  clock: Clock,
): Promise<void> {
  // Programs are stopped with their processes.
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

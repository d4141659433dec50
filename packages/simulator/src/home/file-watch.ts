import fs from "node:fs";
import path from "node:path";
import type { Clock } from "../clock.ts";

/** How late a change may be noticed where the file system tells nothing (network and some container volumes). */
const pollMs = 1_000;

/** Says that a file may have changed; the listener looks for itself. */
export function watchFile(file: string, changed: () => void, clock: Clock): () => void {
  const name = path.basename(file);
  let watcher: fs.FSWatcher | undefined;
  try {
    // The folder, not the file: each change puts a new file in its place.
    watcher = fs.watch(path.dirname(file), { persistent: false }, (_, changedName) => {
      if (changedName === null || changedName === name) changed();
    });
    watcher.on("error", () => watcher?.close());
  } catch {
    // No watching here, or no more of it for this user; looking every second will do.
  }
  const poll = (): void => {
    changed();
    timer = clock.after(pollMs, poll);
  };
  let timer = clock.after(pollMs, poll);
  return () => {
    timer.cancel();
    watcher?.close();
  };
}

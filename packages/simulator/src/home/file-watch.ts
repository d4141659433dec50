import fs from "node:fs";
import path from "node:path";
import type { Clock } from "../clock.ts";

/** Polling interval for file systems without notifications (network and some container volumes). */
const pollMs = 1_000;

/** Reports that a file may have changed; the listener has to check. */
export function watchFile(file: string, changed: () => void, clock: Clock): () => void {
  const name = path.basename(file);
  let watcher: fs.FSWatcher | undefined;
  try {
    // Watches the folder, because the file may be replaced.
    watcher = fs.watch(path.dirname(file), { persistent: false }, (_, changedName) => {
      if (changedName === null || changedName === name) changed();
    });
    watcher.on("error", () => watcher?.close());
  } catch {
    // Watching is not supported, or the user's limit is reached: polling is enough.
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

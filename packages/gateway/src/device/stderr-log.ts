/** Logs what a program writes to stderr, within a rate: a program that writes without end fills neither log nor loop. */
import type { Readable } from "node:stream";
import { limits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { perSecond, TokenBucket } from "../token-bucket.ts";
import { LineReader } from "./line-reader.ts";

const longestLine = 2_048;
const reportMs = 1_000;

export function logStderr(
  stderr: Readable,
  clock: Clock,
  log: { line(text: string): void; skipped(lines: number): void },
): void {
  const now = clock.monotonic();
  const lines = new TokenBucket(
    { burst: limits.processLogBurst.max, everyMs: perSecond(limits.processLogLinesPerSecond.max) },
    now,
  );
  const bytes = new TokenBucket(
    { burst: limits.processLogBytesPerSecond.max, everyMs: perSecond(limits.processLogBytesPerSecond.max) },
    now,
  );
  let skipped = 0;
  const reader = new LineReader(
    longestLine,
    (line) => {
      if (lines.take(clock.monotonic())) {
        log.line(line);
        return;
      }
      skipped += 1;
      if (skipped > 1) return;
      clock.after(reportMs, () => {
        log.skipped(skipped);
        skipped = 0;
      });
    },
    () => undefined,
  );
  stderr.on("data", (chunk: Buffer) => {
    reader.push(chunk);
    const at = clock.monotonic();
    bytes.charge(chunk.byteLength, at, limits.processLogBytesPerSecond.max);
    const waitMs = bytes.waitMs(at);
    if (waitMs === 0) return;
    // The program waits, not the gateway.
    stderr.pause();
    clock.after(waitMs, () => stderr.resume());
  });
}

import { randomFillSync } from "node:crypto";
import { v7 } from "uuid";

const idBytes = 16;
const pool = new Uint8Array(idBytes * 256);
let used = pool.byteLength;

/** Time-ordered ids. Random bytes come from a pool: asking the system for sixteen at a time is most of the cost. */
export function newCallId(): string {
  if (used === pool.byteLength) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(used, used + idBytes);
  used += idBytes;
  return v7({ random });
}

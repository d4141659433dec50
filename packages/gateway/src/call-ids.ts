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

/** When an id was made; nothing where it is not one of ours. */
export function timeOfCallId(id: string): number | undefined {
  const [, high = "", low = ""] =
    /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.exec(id) ?? [];
  return low === "" ? undefined : Number.parseInt(high + low, 16);
}

import { randomFillSync } from "node:crypto";
import { v7 } from "uuid";

const idBytes = 16;
const pool = new Uint8Array(idBytes * 256);
let used = pool.byteLength;

/** A time-ordered id. Random bytes come from a pool, because requesting sixteen at a time is most of the cost. */
export function newCallId(): string {
  if (used === pool.byteLength) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(used, used + idBytes);
  used += idBytes;
  return v7({ random });
}

/** The time of an id; `undefined` if it is not a call id. */
export function timeOfCallId(id: string): number | undefined {
  const [, high = "", low = ""] =
    /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.exec(id) ?? [];
  return low === "" ? undefined : Number.parseInt(high + low, 16);
}

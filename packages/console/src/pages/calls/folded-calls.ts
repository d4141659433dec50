import type { CallHistory } from "@tendon/protocol";

type PastCall = CallHistory["calls"][number];

/** Groups equal calls that follow one another: the same caller, device, tool, values and result. */
export function folded(calls: readonly PastCall[]): readonly (readonly PastCall[])[] {
  const rows: PastCall[][] = [];
  for (const call of calls) {
    const row = rows.at(-1);
    const last = row?.at(-1);
    if (row !== undefined && last !== undefined && keyOf(last) === keyOf(call)) row.push(call);
    else rows.push([call]);
  }
  return rows;
}

/** The answers of a tool that reads differ from call to call, so only a `false` counts as a result of its own. */
function keyOf({ device, tool, principal, outcome, argumentDigest, preview }: PastCall): string {
  const isFalse = preview?.answer === "false";
  return JSON.stringify([device, tool, principal, outcome, argumentDigest, isFalse]);
}

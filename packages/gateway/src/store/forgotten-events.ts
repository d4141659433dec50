import type { Database } from "./engine.ts";

/** Records, in the transaction of the removal, that events up to this number are incomplete. */
export async function noteForgotten(
  tx: Database,
  whose: { readonly stream: string } | { readonly node: string },
  sequence: number,
): Promise<void> {
  let update = tx
    .updateTable("tendon_event_streams")
    .set({ forgotten: sequence })
    .where("forgotten", "<", sequence);
  update =
    "stream" in whose ? update.where("stream", "=", whose.stream) : update.where("node", "=", whose.node);
  await update.execute();
}

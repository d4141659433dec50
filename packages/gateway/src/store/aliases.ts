import { identifier } from "./codec.ts";
import type { Database } from "./engine.ts";

/**
 * Gives a device an alias, inside the caller's transaction. Returns false if another device has the alias now.
 * A former alias of another device is reassigned. The device's own former aliases keep resolving.
 */
export async function claimAlias(tx: Database, device: string, alias: string, now: number): Promise<boolean> {
  const claimed = await tx
    .insertInto("tendon_aliases")
    .values({ alias: identifier(alias, "the alias"), device, current: 1, given_at: now })
    .onConflict((conflict) =>
      conflict
        .column("alias")
        .doUpdateSet({ device, current: 1, given_at: now })
        .where((eb) =>
          eb.or([eb("tendon_aliases.device", "=", device), eb("tendon_aliases.current", "=", 0)]),
        ),
    )
    .returning("alias")
    .executeTakeFirst();
  if (claimed === undefined) return false;
  await tx
    .updateTable("tendon_aliases")
    .set({ current: 0 })
    .where("device", "=", device)
    .where("alias", "<>", alias)
    .where("current", "=", 1)
    .execute();
  return true;
}

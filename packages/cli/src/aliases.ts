/** Looks up the aliases of devices that a list names by id. */
import { OperationError } from "./errors.ts";
import type { GatewayClient } from "./gateway-client.ts";

/** Looks up at most this many aliases per list; the other devices are shown by id. */
const maxLookups = 50;

export async function aliasesOf(
  client: GatewayClient,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const aliases = new Map<string, string>();
  const lookUp = async (id: string) => {
    try {
      const { alias } = await client.devices.get(id);
      aliases.set(id, alias);
    } catch (error) {
      // The device was deleted in the meantime, so it has no alias.
      if (!(error instanceof OperationError)) throw error;
    }
  };
  await Promise.all([...new Set(ids)].slice(0, maxLookups).map(lookUp));
  return aliases;
}

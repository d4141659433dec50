/** What people call the devices that a list names by their ids. */
import type { DeviceDetail } from "@tendon/protocol";
import { OperationError } from "./errors.ts";
import type { GatewayClient } from "./gateway-client.ts";

/** So many are asked for; a list with more devices than that shows the ids of the others. */
const mostAsked = 50;

export async function aliasesOf(
  client: GatewayClient,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const aliases = new Map<string, string>();
  const ask = async (id: string) => {
    try {
      const { alias } = await client.get<DeviceDetail>(`/devices/${encodeURIComponent(id)}`);
      aliases.set(id, alias);
    } catch (error) {
      // One that was deleted since has none.
      if (!(error instanceof OperationError)) throw error;
    }
  };
  await Promise.all([...new Set(ids)].slice(0, mostAsked).map(ask));
  return aliases;
}

import { readOrMakeSecret, type Store } from "../store/store.ts";

/**
 * What devices' credentials are made with. Nodes that share a PostgreSQL share it too, the first one's; a gateway by
 * itself has it in its data folder and nowhere else.
 */
export async function deviceSecretOf(store: Store, dataFolder: string): Promise<string> {
  const { secret } = readOrMakeSecret(dataFolder, "device-secret");
  if (store.state.kind === "sqlite") return secret;
  return String(await store.settings.getOrMake("device-secret", () => secret));
}

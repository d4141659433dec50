import type { Logger } from "pino";
import { StartError } from "../errors.ts";
import { isEmptySecret, readOrMakeSecret, type Store } from "../store/store.ts";

const name = "device-secret";

/**
 * The secret that devices' credentials are derived from. Nodes that share a PostgreSQL share the secret of the first
 * node; a single gateway has it in its data folder only.
 */
export async function deviceSecretOf(store: Store, dataFolder: string, log: Logger): Promise<string> {
  const alone = store.state.kind === "sqlite";
  if (alone && isEmptySecret(dataFolder, name)) await refuseIfUsed(store, dataFolder);
  const { secret, file, isNew } = readOrMakeSecret(dataFolder, name);
  if (!alone) return String(await store.settings.getOrMake(name, () => secret));
  // The file may have been deleted on purpose or lost in a migration. Log why devices are rejected until they are approved again.
  if (isNew && (await isUsed(store)))
    log.warn(
      { file },
      "the device secret was missing: a new one was made, and known devices must be approved again",
    );
  return secret;
}

/** Imports count too, because the keys of imported devices are sealed with the secret. */
async function isUsed(store: Store): Promise<boolean> {
  return (await store.devices.all()).length > 0 || (await store.imports.count()) > 0;
}

/** An interrupted first start leaves an empty file and no devices. With devices, the secret was lost. */
async function refuseIfUsed(store: Store, dataFolder: string): Promise<void> {
  if (!(await isUsed(store))) return;
  throw new StartError(
    `${dataFolder}/${name} is empty, and there are devices whose credentials were made with it. Restore it from a ` +
      "backup. If there is none, remove the file: the next start makes a new secret, and the devices must be " +
      "approved again.",
  );
}

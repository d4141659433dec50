import type { Logger } from "pino";
import { StartError } from "../errors.ts";
import { isEmptySecret, readOrMakeSecret, type Store } from "../store/store.ts";

const name = "device-secret";

/**
 * What devices' credentials are made with. Nodes that share a PostgreSQL share it too, the first one's; a gateway by
 * itself has it in its data folder and nowhere else.
 */
export async function deviceSecretOf(store: Store, dataFolder: string, log: Logger): Promise<string> {
  const alone = store.state.kind === "sqlite";
  if (alone && isEmptySecret(dataFolder, name)) await refuseIfUsed(store, dataFolder);
  const { secret, file, isNew } = readOrMakeSecret(dataFolder, name);
  if (!alone) return String(await store.settings.getOrMake(name, () => secret));
  // Whoever removed it has decided; whoever lost it, in a move to another machine say, has to hear why boards stay out.
  if (isNew && (await isUsed(store)))
    log.warn(
      { file },
      "there was no such secret: a new one was made, and known devices have to be let in again",
    );
  return secret;
}

/** Keys of imported devices are sealed with it too. */
async function isUsed(store: Store): Promise<boolean> {
  return (await store.devices.all()).length > 0 || (await store.imports.count()) > 0;
}

/** A first start that was interrupted leaves an empty one and no devices; with devices it was one that is lost. */
async function refuseIfUsed(store: Store, dataFolder: string): Promise<void> {
  if (!(await isUsed(store))) return;
  throw new StartError(
    `${dataFolder}/${name} is empty, and there are devices whose credentials were made with it. Put it back from a ` +
      "back-up. If there is none, remove the file: the next start makes a new secret, and the devices have to be let " +
      "in again.",
  );
}

/** Settings that are each right and together wrong. */
import { isLoopbackHost } from "../addresses.ts";
import type { Config } from "../config.ts";
import { StartError } from "../errors.ts";

export function refuseClusterWithoutDatabase({ cluster, storage }: Config): void {
  if (cluster === undefined || /^postgres(ql)?:/.test(storage)) return;
  throw new StartError(
    "Nodes of a cluster share one database: set `storage: postgres://…` beside `cluster`.",
  );
}

export function refuseOpenToTheWorld(
  config: Config,
  options: { readonly allowOpen?: boolean | undefined },
): void {
  if (config.devices.admission !== "open" || isLoopbackHost(config.http.host) || options.allowOpen === true)
    return;
  throw new StartError(
    `With devices.admission \`open\` anybody who reaches ${config.http.host} could connect a device. ` +
      "Listen on 127.0.0.1, choose another admission, or say --allow-open.",
  );
}

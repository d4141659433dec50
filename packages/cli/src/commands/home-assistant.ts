import { cleanHomeAssistant, loadConfig, StartError } from "@tendon/gateway";
import { OperationError, UsageError } from "../errors.ts";
import { complain, print, printJson } from "../output.ts";

interface CleanOptions {
  readonly broker?: string;
  readonly prefix?: string;
  readonly config?: string;
  readonly data?: string;
  readonly json?: boolean;
}

export async function clean({ broker, prefix, config: file, data, json }: CleanOptions): Promise<void> {
  const { homeAssistant } = loadConfig({
    file,
    searchIn: ["."],
    env: process.env,
    overrides: data === undefined ? {} : { data },
  }).config;
  const url = broker ?? homeAssistant?.broker;
  if (url === undefined)
    throw new UsageError(
      "no broker: name it with --broker mqtt://user:password@host, or set `homeAssistant.broker`",
    );
  if (!/^mqtts?:\/\/[^/]+/.test(url)) throw new UsageError("--broker must begin with mqtt:// or mqtts://");
  const { passwordFile, discoveryPrefix } = broker === undefined ? (homeAssistant ?? {}) : {};
  const topics = await cleanHomeAssistant({
    broker: url,
    passwordFile,
    discoveryPrefix: prefix ?? discoveryPrefix,
  }).catch((error: unknown) => {
    if (error instanceof StartError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperationError(`the broker at ${new URL(url).host} could not be cleaned: ${reason}`);
  });
  if (json === true) printJson({ removed: topics });
  else if (topics.length === 0) print("Nothing to remove: the broker has no messages of Tendon.");
  else print(`Removed ${topics.length} messages of Tendon. Home Assistant has removed the devices.`);
  if (homeAssistant !== undefined)
    complain(
      "The configuration still has `homeAssistant`: a gateway that runs with it publishes again. Remove it, restart the gateway, then run this again with --broker.",
    );
}

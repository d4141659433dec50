/**
 * Settings that are each right and together wrong, or that name files which are not: all that a start would stumble
 * over and that can be known without one. A start refuses the first of them; `config check` tells them all.
 */
import { isLoopbackHost } from "../addresses.ts";
import { readUsablePair } from "../agent/agent.ts";
import { systemClock } from "../clock.ts";
import { readNatsAddress } from "../cluster/cluster.ts";
import type { Config } from "../config/config.ts";
import { StartError } from "../errors.ts";
import { VisionProvider } from "../vision/vision.ts";
import { voiceServers } from "../voice/voice.ts";

export interface CheckOptions {
  /** Whoever reaches this address may connect a device: somebody has said that they want it. */
  readonly allowOpen?: boolean | undefined;
  readonly now?: number | undefined;
}

type Check = (config: Config, options: CheckOptions) => void;

const checks: readonly Check[] = [
  refuseOpenToTheWorld,
  refuseClusterWithoutDatabase,
  ({ cluster }) => {
    if (cluster !== undefined) readNatsAddress(cluster);
  },
  ({ tls }, { now = systemClock.now() }) => readUsablePair(tls, now),
  refuseTlsPortWithoutCertificate,
  ({ voice }) => voiceServers(voice),
  ({ vision: { provider } }) => {
    if (provider !== undefined) new VisionProvider(provider, systemClock);
  },
];

export function refuseUnusable(config: Config, options: CheckOptions): void {
  for (const check of checks) check(config, options);
}

/** The same, in words; none where a start would get as far as opening things. */
export function startProblems(config: Config, options: CheckOptions): string[] {
  return checks.flatMap((check) => {
    try {
      check(config, options);
      return [];
    } catch (error) {
      if (error instanceof StartError) return [error.message];
      throw error;
    }
  });
}

function refuseClusterWithoutDatabase({ cluster, storage }: Config): void {
  if (cluster === undefined || /^postgres(ql)?:/.test(storage)) return;
  throw new StartError(
    "Nodes of a cluster share one database: set `storage: postgres://…` beside `cluster`.",
  );
}

function refuseOpenToTheWorld(config: Config, { allowOpen }: CheckOptions): void {
  if (config.devices.admission !== "open" || isLoopbackHost(config.http.host) || allowOpen === true) return;
  throw new StartError(
    `With devices.admission \`open\` anybody who reaches ${config.http.host} could connect a device. ` +
      "Listen on 127.0.0.1, choose another admission, or say --allow-open.",
  );
}

function refuseTlsPortWithoutCertificate({ mqtt, tls }: Config): void {
  // With an outside broker the port is the broker's, and nothing of ours listens.
  if (mqtt.broker !== undefined || mqtt.tlsPort === undefined || tls.cert !== undefined) return;
  throw new StartError("mqtt.tlsPort needs tls.cert and tls.key.");
}

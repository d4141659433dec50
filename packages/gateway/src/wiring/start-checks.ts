/**
 * Checks of the configuration that the schema cannot express: combinations of settings, and the files that they name.
 * A start fails with the first problem; `tendon config check` lists all of them.
 */
import { isObject } from "@tendon/protocol";
import { isLoopbackHost } from "../addresses.ts";
import { readUsablePair } from "../agent/agent.ts";
import { systemClock } from "../clock.ts";
import { readNatsAddress } from "../cluster/cluster.ts";
import type { Config } from "../config/config.ts";
import { StartError } from "../errors.ts";
import { VisionProvider } from "../vision/vision.ts";
import { voiceServers } from "../voice/voice.ts";

export interface CheckOptions {
  /** Allows `devices.admission: open` on an address that other machines can reach. */
  readonly allowOpen?: boolean | undefined;
  readonly now?: number | undefined;
}

type Check = (config: Config, options: CheckOptions) => void;

const checks: readonly Check[] = [
  checkOpenAdmission,
  checkClusterDatabase,
  ({ cluster }) => {
    if (cluster !== undefined) readNatsAddress(cluster);
  },
  ({ tls }, { now = systemClock.now() }) => readUsablePair(tls, now),
  checkTlsPort,
  ({ voice }) => voiceServers(voice),
  checkOwnVisionServer,
  ({ vision: { provider } }) => {
    if (provider !== undefined) new VisionProvider(provider, systemClock);
  },
];

export function checkStart(config: Config, options: CheckOptions): void {
  for (const check of checks) check(config, options);
}

/** All problems as texts; empty if the configuration passes every check. */
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

function checkClusterDatabase({ cluster, storage }: Config): void {
  if (cluster === undefined || /^postgres(ql)?:/.test(storage)) return;
  throw new StartError(
    "The nodes of a cluster need a shared database: set `storage: postgres://…` beside `cluster`.",
  );
}

function checkOpenAdmission(config: Config, { allowOpen }: CheckOptions): void {
  if (config.devices.admission !== "open" || isLoopbackHost(config.http.host) || allowOpen === true) return;
  throw new StartError(
    `With \`devices.admission: open\`, any device that can reach ${config.http.host} may connect. ` +
      "Listen on 127.0.0.1, choose another admission policy, or add --allow-open.",
  );
}

function checkTlsPort({ mqtt, tls }: Config): void {
  // With an external broker the port is the broker's, and the gateway listens on none.
  if (mqtt.broker !== undefined || tls.cert !== undefined) return;
  if (mqtt.tlsPort !== undefined) throw new StartError("mqtt.tlsPort needs tls.cert and tls.key.");
  if (mqtt.port === "off")
    throw new StartError(
      "`mqtt.port: off` needs tls.cert and tls.key: MQTT is then available with TLS only.",
    );
}

/** The firmware accepts any text as an address and fails at the first photo. */
function checkOwnVisionServer({ devices: { capabilities } }: Config): void {
  const { vision } = capabilities;
  const url = isObject(vision) ? vision["url"] : undefined;
  if (vision === undefined || (typeof url === "string" && /^https?:\/\/[^/]/i.test(url))) return;
  throw new StartError("devices.capabilities.vision.url must be an http or https address.");
}

/**
 * Opens what every module needs: the data folder, the log, events, the certificate, the store, the cluster and the
 * secrets. Each part is pushed on `started` as soon as it is open, to be closed if a later one fails.
 */
import { createHmac, randomUUID } from "node:crypto";
import os from "node:os";
import type { Logger } from "pino";
import { type Certificate, openCertificate } from "../agent/agent.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { Events, Metrics, storedEventLog } from "../events/events.ts";
import { createLogger } from "../logging.ts";
import { deviceSecretOf } from "../provisioning/provisioning.ts";
import {
  type HeldFolder,
  holdDataFolder,
  openDataFolder,
  openStore,
  readOrMakeNodeId,
  readOrMakeSecret,
  type SecretFile,
  type Store,
} from "../store/store.ts";
import { version } from "../version.ts";
import type { JoinedCluster } from "./cluster.ts";

export interface FoundationOptions {
  /** The admin token of this run, instead of the one in the data folder. */
  readonly adminToken?: string | undefined;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Ends a start that still waits for its database. */
  readonly signal?: AbortSignal | undefined;
}

/** How each part that was started is ended, in the order in which they were. */
export type Started = (() => Promise<void> | void)[];

export interface Foundation {
  readonly clock: Clock;
  readonly log: Logger;
  readonly dataFolder: string;
  readonly held: HeldFolder;
  /** Where the admin token is kept; `undefined` when the options have it. */
  readonly adminToken: SecretFile | undefined;
  readonly adminSecret: string;
  /** What this machine is called, and what this gateway is among those that share a database. */
  readonly node: string;
  readonly nodeId: string;
  readonly metrics: Metrics;
  readonly events: Events;
  readonly certificate: Certificate | undefined;
  readonly store: Store;
  readonly cluster: JoinedCluster | undefined;
  /** The prefix of ids made here: it names this node, so that other nodes can forward requests about them. */
  readonly mark: string;
  /** This run of the program, which no other has been or will be. */
  readonly run: string;
  readonly deviceSecret: string;
  /** What callers hold between the rounds of a call is signed with this. */
  readonly stateKey: Buffer;
}

export async function layFoundation(
  config: Config,
  options: FoundationOptions,
  started: Started,
): Promise<Foundation> {
  const clock = options.clock ?? systemClock;
  const log = options.logger ?? (await createLogger(config.log.level));
  const dataFolder = openDataFolder(config.data);
  const held = holdDataFolder(dataFolder, config.storage);
  started.push(held.release);
  const adminToken =
    options.adminToken === undefined ? readOrMakeSecret(dataFolder, "admin-token") : undefined;
  const nodeId = readOrMakeNodeId(dataFolder);
  const node = os.hostname();
  const metrics = new Metrics();
  const events = new Events(clock, log, metrics);
  const certificate = openCertificate(config.tls, { clock, events });
  started.push(() => certificate?.stop());
  const store = await openStore({
    url: config.storage,
    dataFolder,
    clock,
    onProblem: (problem) => events.storage(problem),
    retention: {
      callsForMs: config.calls.keepDays * 24 * 60 * 60_000,
      calls: config.calls.keepCount,
    },
    signal: options.signal,
  });
  started.push(() => store.close());
  const join = async (url: string) => {
    // The client of NATS is loaded only where there is a cluster.
    const { joinCluster } = await import("./cluster.ts");
    return await joinCluster({ url, clock, events, node, version });
  };
  const cluster = config.cluster === undefined ? undefined : await join(config.cluster);
  if (cluster === undefined) await events.keepIn(storedEventLog(store, nodeId));
  else started.push(() => cluster.leave());
  const deviceSecret = await deviceSecretOf(store, dataFolder, log);
  return {
    clock,
    log,
    dataFolder,
    held,
    adminToken,
    adminSecret: options.adminToken ?? adminToken?.secret ?? "",
    node,
    nodeId,
    metrics,
    events,
    certificate,
    store,
    cluster,
    mark: cluster === undefined ? "" : `${cluster.cluster.instance}.`,
    run: cluster?.cluster.instance ?? randomUUID(),
    deviceSecret,
    stateKey: createHmac("sha256", deviceSecret).update("states of calls in rounds").digest(),
  };
}

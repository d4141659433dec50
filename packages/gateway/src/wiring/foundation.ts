/**
 * Opens what every module needs: the data folder, the log, events, the certificate, the store, the cluster and the
 * secrets. Each part is added to `started` as soon as it is open, so that it is closed if a later one fails.
 */
import { createHmac, randomUUID } from "node:crypto";
import os from "node:os";
import type { Logger } from "pino";
import { type Certificate, openCertificate } from "../agent/agent.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { EndpointEvents, Events, Metrics, storedEventLog } from "../events/events.ts";
import { createLogger } from "../logging.ts";
import { deviceSecretOf } from "../provisioning/provisioning.ts";
import {
  type LockedFolder,
  lockDataFolder,
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
  /** Cancels a start that still waits for its database. */
  readonly signal?: AbortSignal | undefined;
}

/** The functions that stop the started parts, in the order of the start. */
export type Started = (() => Promise<void> | void)[];

export interface Foundation {
  readonly clock: Clock;
  readonly log: Logger;
  readonly dataFolder: string;
  readonly folderLock: LockedFolder;
  /** The file of the admin token; `undefined` if the options contain the token. */
  readonly adminToken: SecretFile | undefined;
  readonly adminSecret: string;
  /** The name of this node: the setting `node`, or the host name of this machine. */
  readonly node: string;
  /** Identifies this gateway among those that share a database. */
  readonly nodeId: string;
  readonly metrics: Metrics;
  readonly events: Events;
  readonly endpointEvents: EndpointEvents;
  readonly certificate: Certificate | undefined;
  readonly store: Store;
  readonly cluster: JoinedCluster | undefined;
  /** The prefix of ids created here. It names this node, so that other nodes can forward requests to it. */
  readonly idPrefix: string;
  /** A unique id of this run of the program. */
  readonly run: string;
  readonly deviceSecret: string;
  /** Signs the state that MCP clients keep between the rounds of a call. */
  readonly stateKey: Buffer;
}

export async function openFoundation(
  config: Config,
  options: FoundationOptions,
  started: Started,
): Promise<Foundation> {
  const clock = options.clock ?? systemClock;
  const log = options.logger ?? (await createLogger(config.log.level));
  const dataFolder = openDataFolder(config.data);
  const folderLock = lockDataFolder(dataFolder, config.storage);
  started.push(folderLock.release);
  const adminToken =
    options.adminToken === undefined ? readOrMakeSecret(dataFolder, "admin-token") : undefined;
  const nodeId = readOrMakeNodeId(dataFolder);
  const node = config.node ?? os.hostname();
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
      auditForMs: config.audit.keepDays * 24 * 60 * 60_000,
      deliveries: config.webhooks.maxPending,
    },
    signal: options.signal,
  });
  started.push(() => store.close());
  const join = async (url: string) => {
    // The NATS client is loaded only if a cluster is configured.
    const { joinCluster } = await import("./cluster.ts");
    return await joinCluster({ url, clock, events, node, version, balance: config.drain.balance });
  };
  const cluster = config.cluster === undefined ? undefined : await join(config.cluster);
  if (cluster === undefined) await events.useLog(storedEventLog(store, nodeId));
  else started.push(() => cluster.leave());
  const deviceSecret = await deviceSecretOf(store, dataFolder, log);
  return {
    clock,
    log,
    dataFolder,
    folderLock,
    adminToken,
    adminSecret: options.adminToken ?? adminToken?.secret ?? "",
    node,
    nodeId,
    metrics,
    events,
    endpointEvents: new EndpointEvents(log, metrics),
    certificate,
    store,
    cluster,
    idPrefix: cluster === undefined ? "" : `${cluster.cluster.instance}.`,
    run: cluster?.cluster.instance ?? randomUUID(),
    deviceSecret,
    stateKey: createHmac("sha256", deviceSecret).update("states of calls in rounds").digest(),
  };
}

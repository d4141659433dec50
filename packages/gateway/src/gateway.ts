/**
 * The composition root: builds every room and connects their doors. Wiring only; what is decided is decided in the
 * rooms. Also the library's entry: `startTendon` runs a gateway inside another program.
 */
import { createHmac, randomUUID } from "node:crypto";
import os from "node:os";
import { Actions, defaultActions } from "@tendon/protocol";
import type { Logger } from "pino";
import { type Addresses, addressesOf } from "./addresses.ts";
import {
  createHttp,
  docsRoutes,
  type IdentifyToken,
  mcpRoutes,
  operationRoutes,
  Rates,
  restRoutes,
} from "./agent/agent.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type Config, type ConfigInput, loadConfig } from "./config.ts";
import {
  BoardSession,
  type DeviceClaim,
  type DeviceIdentity,
  type DeviceLink,
  FrameLog,
  Liveness,
  type OtaSettings,
  openMqttDevice,
  openUdpSink,
  randomFirstId,
  WebSocketDevices,
} from "./device/device.ts";
import { Events } from "./events.ts";
import { createLogger } from "./logging.ts";
import { Metrics } from "./metrics.ts";
import { type DeviceCredentials, type Principal, Registry, Tokens } from "./registry/registry.ts";
import {
  announceGateway,
  holdDataFolder,
  openDataFolder,
  openStore,
  readOrMakeNodeId,
  readOrMakeSecret,
  type SecretFile,
} from "./store/store.ts";
import { version } from "./version.ts";
import {
  deviceSecretOf,
  deviceSettings,
  eventJournal,
  forwardStrays,
  joinCluster,
  listen,
  markOf,
  nodeList,
  openCertificate,
  openConsole,
  openFirmware,
  openProvisioning,
  openVision,
  openVoice,
  portOf,
  refuseUnusable,
  sendAway,
  serveCertificate,
  startMqtt,
  startProcesses,
  talksEverywhere,
  unreadyParts,
  within,
} from "./wiring/wiring.ts";

export interface StartOptions {
  /** The admin token of this run, instead of the one in the data folder. */
  readonly adminToken?: string | undefined;
  /** Lets anybody's device in even where the gateway listens beyond this machine. */
  readonly allowOpen?: boolean | undefined;
  /** Programs to run as devices beside those of the settings. */
  readonly processes?: Config["devices"]["stdio"];
  /** Starts a virtual device with the settings it provisions itself with, and gives its id; the console offers it. */
  readonly startDemoDevice?: ((provision: Tendon["provision"]) => Promise<string>) | undefined;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Ends a start that still waits for its database. */
  readonly signal?: AbortSignal | undefined;
}

/** A running gateway. */
export interface Tendon {
  readonly url: string;
  readonly addresses: Addresses;
  readonly config: Config;
  /** Where the admin token is kept; `undefined` when it was handed in. */
  readonly adminToken: SecretFile | undefined;
  /** The settings of a device that is about to connect, over either transport. */
  provision(id: string, clientId: string): Required<OtaSettings>;
  /** Looks at the files of `tls` now; says whether another certificate is served from now on. */
  reloadCertificate(): boolean;
  /** A link that opens the console and signs in as the administrator, once. */
  consoleLink(): string;
  /** No new calls, running ones finish or fail with a code, devices are told, everything is closed. */
  stop(): Promise<void>;
}

const drainMs = 2_000;
const deviceCloseMs = 1_200;
const devicePaths = new Set(["/xiaozhi/v1/", "/xiaozhi/v1"]);
const mqttPaths = new Set(["/mqtt", "/mqtt/"]);

/** Starts a gateway from settings alone; the environment and tendon.yaml are not looked at. */
export function startTendon(settings: ConfigInput = {}, options: StartOptions = {}): Promise<Tendon> {
  return startGateway(loadConfig({ overrides: settings }).config, options);
}

export async function startGateway(config: Config, options: StartOptions): Promise<Tendon> {
  refuseUnusable(config, { allowOpen: options.allowOpen, now: options.clock?.now() });
  // What has been started, to be taken back in reverse if a later step fails.
  const started: (() => Promise<void> | void)[] = [];
  try {
    return await assemble(config, options, started);
  } catch (error) {
    for (const undo of started.reverse()) await undo();
    throw error;
  }
}

async function assemble(
  config: Config,
  options: StartOptions,
  started: (() => Promise<void> | void)[],
): Promise<Tendon> {
  const clock = options.clock ?? systemClock;
  const log = options.logger ?? (await createLogger(config.log.level));
  const dataFolder = openDataFolder(config.data);
  const held = holdDataFolder(dataFolder, config.storage);
  started.push(held.release);
  const adminToken =
    options.adminToken === undefined ? readOrMakeSecret(dataFolder, "admin-token") : undefined;
  const nodeId = readOrMakeNodeId(dataFolder);

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
  const cluster =
    config.cluster === undefined
      ? undefined
      : await joinCluster({ url: config.cluster, clock, events, node: os.hostname(), version });
  if (cluster === undefined) await events.keepIn(eventJournal(store, nodeId));
  else started.push(() => cluster.leave());
  const mark = markOf(cluster?.cluster);
  const run = cluster?.cluster.instance ?? randomUUID();
  const deviceSecret = await deviceSecretOf(store, dataFolder, log);
  const stateKey = createHmac("sha256", deviceSecret).update("states of calls in rounds").digest();
  const tokens = await Tokens.open({
    store,
    clock,
    adminToken: options.adminToken ?? adminToken?.secret ?? "",
    devices: {
      idOf: (reference) => registry.idOf(reference),
      visible: (principal, id) => registry.visible(principal, id),
    },
  });
  started.push(() => tokens.stop());
  const rates = new Rates({ clock, events, tokens, settings: config.limits });
  const identify: IdentifyToken = (token, from, connection) => rates.identify(token, from, connection);
  const spend = (principal: Principal) => rates.spend(principal);
  const vision = await openVision({
    config,
    dataFolder,
    clock,
    events,
    log,
    mark,
    uploadUrl: () => `${addresses().public}/vision/explain`,
  });
  started.push(() => vision.stop());
  const registry = await Registry.open({
    camera: vision.camera,
    shelf: vision.shelf,
    store,
    clock,
    events,
    node: os.hostname(),
    nodeId,
    idMark: mark,
    run,
    isAlive: (other) => other === run || cluster?.cluster.members.isAlive(other) === true,
    defaultTimeoutMs: config.calls.timeoutMs,
    keepArguments: config.calls.keepArguments,
    queueLimit: config.calls.queue,
    actions: Actions.of(defaultActions, config.control.actions),
    access: config.access,
    nameOf: (principalId) => tokens.nameOf(principalId),
    agents: config.agents,
  });
  started.push(() => registry.close());
  started.push(() => registry.toolset.stop());
  const firmware = await openFirmware({
    config,
    dataFolder,
    store,
    clock,
    events,
    secret: deviceSecret,
    cluster: cluster?.cluster,
    address: () => addresses().public,
  });
  started.push(() => firmware.stop());
  const voice = await openVoice({
    config,
    store,
    secret: deviceSecret,
    clock,
    events,
    registry,
    audioHost: () => addresses().audioHost,
  });
  started.push(() => voice?.stop());
  const liveness = new Liveness(clock);
  started.push(() => liveness.stop());
  const { credentials, provisioning, doors, routes } = openProvisioning({
    config,
    secret: deviceSecret,
    store,
    clock,
    events,
    registry,
    liveness,
  });
  const audio = voice?.udp ?? (await openUdpSink(events, config.http.host));
  if (voice === undefined) started.push(() => audio.stop());
  const addresses = (): Addresses =>
    addressesOf({
      host: config.http.host,
      httpPort: portOf(http),
      tls: certificate !== undefined,
      publicUrl: config.http.publicUrl,
      mqttHost: mqtt.host,
      mqttPort: mqtt.port,
      mqttTlsPort: mqtt.tlsPort,
      publicEndpoint: config.mqtt.publicEndpoint,
    });
  const frames = new FrameLog(clock);
  const open = (identity: DeviceIdentity, link: DeviceLink) => {
    const session = new BoardSession(identity, link, {
      clock,
      events,
      owner: registry.connections,
      newSessionId: randomUUID,
      frames,
      firstRequestId: randomFirstId(Math.random()),
      queueLimit: config.calls.queue,
      capabilities: () => config.devices.capabilities,
      audioAddress: () => audio.addressFor(addresses().audioHost),
      voice: voice?.relay,
    });
    liveness.watch(session);
    return session;
  };
  const admit = (claim: DeviceClaim) => credentials.admit(claim);
  const devices = new WebSocketDevices({ clock, events, admit, open, ...doors });

  const stopProcesses = startProcesses({
    programs: [...config.devices.stdio, ...(options.processes ?? [])],
    clock,
    events,
    registry,
    queueLimit: config.calls.queue,
    frames,
  });
  started.push(stopProcesses);

  const reportFault = (error: unknown) => log.error({ err: error }, "a request failed");
  const http = await createHttp({
    ...config.http,
    clock,
    tls: certificate?.pair,
    version,
    reportFault,
  });
  serveCertificate(http, certificate);
  if (cluster !== undefined) forwardStrays(http, cluster.cluster, registry);
  started.push(() => http.close());
  // After HTTP, because it ends before it: a server does not close while apps hold WebSockets of its open.
  const mqtt = await startMqtt({
    config,
    certificate,
    clock,
    registry,
    events,
    identify,
    spend,
    onRevoked: (listener) => tokens.onRevoked(listener),
    credentials,
    ...doors,
    openDevice: (identity, connection) => openMqttDevice(identity, connection, { open }),
  });
  started.push(() => mqtt.stop());
  let stopping = false;
  const settingsOf = (made: DeviceCredentials) => deviceSettings(made, mqtt, addresses());
  const provision: Tendon["provision"] = (id, clientId) =>
    settingsOf(provisioning.decisions.provisionHere(id, clientId, "the gateway").made);
  operationRoutes(http, {
    metrics,
    events,
    identify,
    unready: () => unreadyParts({ clock, store, mqtt, cluster, stopping }),
  });
  await docsRoutes(http);
  const { startDemoDevice } = options;
  const console = await openConsole(http, {
    clock,
    events,
    store,
    registry,
    tokens,
    identify,
    spend,
    frames,
    addresses,
    voice: voice !== undefined,
    startDemoDevice: startDemoDevice && (() => startDemoDevice(provision)),
  });
  await routes(http, settingsOf, firmware.offer, voice?.ota);
  await firmware.routes(http);
  await vision.routes(http);
  const startedAt = clock.now();
  const nodes = () =>
    nodeList({ cluster: cluster?.cluster, store, registry, node: os.hostname(), nodeId, startedAt });
  await restRoutes(http, {
    clock,
    registry,
    provisioning,
    tokens,
    library: firmware.library,
    events,
    console,
    settingsOf,
    voice: talksEverywhere(cluster?.cluster, voice?.relay),
    nodes,
  });
  await mcpRoutes(http, { registry, tokens, events, clock, identify, idMark: mark, stateKey, reportFault });
  http.server.on("upgrade", (request, socket, head) => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    if (devicePaths.has(path)) devices.upgrade(request, socket, head);
    else if (mqttPaths.has(path) && !stopping && mqtt.upgrade(request, socket, head)) return;
    else socket.end("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });
  const cut = (id: string, reason: string) => liveness.cut(id, reason);
  const { sessions } = console.signIn;
  await cluster?.open({ registry, tokens, credentials, rates, sessions, cut });
  await listen(http, config.http);
  const word = { url: addresses().local, certificate: certificate?.file, locked: held.locked };
  const withdraw = announceGateway(config, { ...word, ports: { http: portOf(http), mqtt: mqtt.port } });
  log.info({ url: addresses().local, admission: config.devices.admission, version }, "gateway started");

  let stopped: Promise<void> | undefined;
  const stop = async () => {
    stopping = true;
    devices.refuseNew();
    mqtt.refuseNew();
    cluster?.cluster.drain();
    withdraw();
    log.info("gateway stopping");
    await within(clock, drainMs, registry.calls.drain());
    await sendAway(registry.sessions(), cluster !== undefined, clock);
    await Promise.all([within(clock, deviceCloseMs, devices.allClosed()), stopProcesses()]);
    devices.stop();
    for (const undo of started.reverse()) await undo();
    log.info("gateway stopped");
    await new Promise<void>((resolve) => log.flush(() => resolve()));
  };
  return {
    url: addresses().local,
    addresses: addresses(),
    config,
    adminToken,
    provision,
    reloadCertificate: () => certificate?.reload() ?? false,
    consoleLink: () => console.signIn.link("admin").url,
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

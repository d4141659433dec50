/**
 * The composition root: builds every room and connects their doors. Wiring only; what is decided is decided in the
 * rooms. Also the library's entry: `startTendon` runs a gateway inside another program.
 */
import { randomUUID } from "node:crypto";
import { Actions, defaultActions } from "@tendon/protocol";
import { Tokens } from "./access/access.ts";
import { type Addresses, addressesOf } from "./addresses.ts";
import { createHttp, type IdentifyToken, Rates } from "./agent/agent.ts";
import { type Config, type ConfigInput, loadConfig } from "./config/config.ts";
import {
  BoardSession,
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
import type { DeviceCredentials } from "./provisioning/provisioning.ts";
import { announceGateway, type SecretFile } from "./store/store.ts";
import { version } from "./version.ts";
import {
  deviceSettings,
  type FoundationOptions,
  forwardStrays,
  layFoundation,
  listen,
  openDoors,
  openFirmware,
  openProvisioning,
  openServices,
  openVision,
  openVoice,
  portOf,
  refuseUnusable,
  type Started,
  sendAway,
  serveCertificate,
  startMqtt,
  startProcesses,
  within,
} from "./wiring/wiring.ts";

export interface StartOptions extends FoundationOptions {
  /** Lets anybody's device in even where the gateway listens beyond this machine. */
  readonly allowOpen?: boolean | undefined;
  /** Programs to run as devices beside those of the settings. */
  readonly processes?: Config["devices"]["stdio"];
  /** Starts a virtual device with the settings it provisions itself with, and gives its id; the console offers it. */
  readonly startDemoDevice?: ((provision: Tendon["provision"]) => Promise<string>) | undefined;
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

/** Starts a gateway from settings alone; the environment and tendon.yaml are not looked at. */
export function startTendon(settings: ConfigInput = {}, options: StartOptions = {}): Promise<Tendon> {
  return startGateway(loadConfig({ overrides: settings }).config, options);
}

export async function startGateway(config: Config, options: StartOptions): Promise<Tendon> {
  refuseUnusable(config, { allowOpen: options.allowOpen, now: options.clock?.now() });
  // What has been started, to be taken back in reverse if a later step fails.
  const started: Started = [];
  try {
    return await assemble(config, options, started);
  } catch (error) {
    for (const undo of started.reverse()) await undo();
    throw error;
  }
}

async function assemble(config: Config, options: StartOptions, started: Started): Promise<Tendon> {
  const foundation = await layFoundation(config, options, started);
  const { clock, log, dataFolder, adminToken, events, certificate, store, cluster, mark, run } = foundation;
  const tokens = await Tokens.open({
    store,
    clock,
    adminToken: options.adminToken ?? adminToken?.secret ?? "",
    devices: {
      idOf: (reference) => services.fleet.idOf(reference),
      visible: (principal, id) => services.fleet.visible(principal, id),
    },
  });
  started.push(() => tokens.stop());
  const rates = new Rates({ clock, events, tokens, settings: config.limits });
  const identify: IdentifyToken = (token, from, connection) => rates.identify(token, from, connection);
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
  const services = await openServices({
    camera: vision.camera,
    shelf: vision.shelf,
    store,
    clock,
    events,
    node: foundation.node,
    nodeId: foundation.nodeId,
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
  started.push(() => services.close());
  const firmware = await openFirmware({
    config,
    dataFolder,
    store,
    clock,
    events,
    secret: foundation.deviceSecret,
    cluster: cluster?.cluster,
    address: () => addresses().public,
  });
  started.push(() => firmware.stop());
  const voice = await openVoice({
    config,
    store,
    secret: foundation.deviceSecret,
    clock,
    events,
    services,
    audioHost: () => addresses().audioHost,
  });
  started.push(() => voice?.stop());
  const liveness = new Liveness(clock);
  started.push(() => liveness.stop());
  const entrance = openProvisioning({
    config,
    secret: foundation.deviceSecret,
    store,
    clock,
    events,
    services,
    liveness,
  });
  const { credentials, doors } = entrance;
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
      owner: services.fleet.connections,
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
  const devices = new WebSocketDevices({
    clock,
    events,
    admit: (claim) => credentials.admit(claim),
    open,
    ...doors,
  });

  const stopProcesses = startProcesses({
    programs: [...config.devices.stdio, ...(options.processes ?? [])],
    clock,
    events,
    services,
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
    onCut: (from) => events.limited("connection", from),
  });
  serveCertificate(http, certificate);
  if (cluster !== undefined) forwardStrays(http, cluster.cluster, services);
  started.push(() => http.close());
  // After HTTP, because it ends before it: a server does not close while apps hold WebSockets of its open.
  const mqtt = await startMqtt({
    config,
    certificate,
    clock,
    services,
    events,
    identify,
    spend: (principal) => rates.spend(principal),
    onRevoked: (listener) => tokens.onRevoked(listener),
    counts: ({ id }) => tokens.current(id) !== undefined,
    credentials,
    store,
    secret: foundation.deviceSecret,
    ...doors,
    openDevice: (identity, connection) => openMqttDevice(identity, connection, { open }),
    reportFault,
  });
  started.push(() => mqtt.stop());
  let stopping = false;
  const settingsOf = (made: DeviceCredentials) => deviceSettings(made, mqtt, addresses());
  const provision: Tendon["provision"] = (id, clientId) =>
    settingsOf(entrance.provisioning.decisions.provisionHere(id, clientId, "the gateway").made);
  const { startDemoDevice } = options;
  const console = await openDoors(http, {
    foundation,
    services,
    tokens,
    rates,
    identify,
    vision,
    firmware,
    voice,
    entrance,
    devices,
    mqtt,
    frames,
    addresses,
    listening: config.http,
    settingsOf,
    startDemoDevice: startDemoDevice && (() => startDemoDevice(provision)),
    reportFault,
    isStopping: () => stopping,
  });
  const cut = (id: string, reason: string) => liveness.cut(id, reason);
  const { sessions } = console.signIn;
  await cluster?.open({ services, tokens, credentials, rates, sessions, cut });
  await listen(http, config.http);
  const word = { url: addresses().local, certificate: certificate?.file, locked: foundation.held.locked };
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
    await within(clock, drainMs, services.drain());
    await sendAway(services.fleet.sessions(), cluster !== undefined, clock);
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

/**
 * The composition root: constructs the modules and connects them, without logic of its own. It is also the entry point of
 * the library: `startTendon` runs a gateway inside another program.
 */
import type { Device, SettingView } from "@tendon/protocol";
import { type Addresses, addressesOf } from "./addresses.ts";
import {
  createHttp,
  forwardMisrouted,
  type HomeAssistant,
  type Http,
  listen,
  portOf,
  serveCertificate,
} from "./agent/agent.ts";
import { Erasure } from "./calls/calls.ts";
import { type Config, type ConfigInput, loadConfig } from "./config/config.ts";
import { openFileWarning } from "./open-files.ts";
import { type DeviceCredentials, deviceSettings, type OtaSettings } from "./provisioning/provisioning.ts";
import { asStartError, type SecretFile, writeRunFile } from "./store/store.ts";
import { version } from "./version.ts";
import {
  checkStart,
  type DeviceConnections,
  type Foundation,
  type FoundationOptions,
  homeAssistantView,
  type Modules,
  type MqttTransport,
  openDeviceConnections,
  openFoundation,
  openHomeAssistant,
  openModules,
  openRoutes,
  Shutdown,
  type Started,
  startMqtt,
} from "./wiring/wiring.ts";

export interface StartOptions extends FoundationOptions {
  /** Allows `devices.admission: open` on an address that other machines can reach. */
  readonly allowOpen?: boolean | undefined;
  /** The settings with their sources, for the console and the audit. */
  readonly settings?: readonly SettingView[] | undefined;
  /** How the command is typed on this machine, for the console; `tendon` by default. */
  readonly command?: string | undefined;
  /** Programs to run as devices, in addition to those of the configuration. */
  readonly processes?: Config["devices"]["stdio"];
  /** Starts a virtual device for the console and returns its id. `provision` gives the device its settings. */
  readonly startDemoDevice?: ((provision: Tendon["provision"]) => Promise<string>) | undefined;
}

/** A running gateway. */
export interface Tendon {
  readonly url: string;
  readonly addresses: Addresses;
  readonly config: Config;
  /** The file of the admin token; `undefined` if the options contain the token. */
  readonly adminToken: SecretFile | undefined;
  /** Provisions a device and returns its settings for both transports. */
  provision(id: string, clientId: string): Required<OtaSettings>;
  /** Whether a device is approved; `undefined` if the gateway does not know it, for example after its deletion. */
  approvalOf(id: string): Device["approval"] | undefined;
  /** Reads the files of `tls` again. Returns whether the certificate has changed. */
  reloadCertificate(): boolean;
  /** A link that opens the console and signs in as the administrator. It works once. */
  consoleLink(): string;
  /** Moves the devices to other nodes if there are any, waits for the running calls, and closes everything. */
  stop(): Promise<void>;
}

/** Starts a gateway from these settings only. It does not read the environment or tendon.yaml. */
export function startTendon(settings: ConfigInput = {}, options: StartOptions = {}): Promise<Tendon> {
  const loaded = loadConfig({ overrides: settings });
  return startGateway(loaded.config, { settings: loaded.settings, ...options });
}

export async function startGateway(config: Config, options: StartOptions): Promise<Tendon> {
  checkStart(config, { allowOpen: options.allowOpen, now: options.clock?.now() });
  // If a later step fails, everything that has been started is stopped in reverse order.
  const started: Started = [];
  try {
    return await assemble(config, options, started);
  } catch (error) {
    for (const undo of started.reverse()) await undo();
    throw asStartError(error, config.storage === "sqlite:" ? `in ${config.data}` : "of `storage`");
  }
}

/** Both are set before any device or client needs an address. */
interface Listeners {
  http: Http;
  mqtt: MqttTransport;
}

async function assemble(config: Config, options: StartOptions, started: Started): Promise<Tendon> {
  const foundation = await openFoundation(config, options, started);
  const { log, certificate, cluster, clock } = foundation;
  const listeners: Partial<Listeners> = {};
  const addresses = () => addressesFor(config, certificate !== undefined, listeners as Listeners);
  const modules = await openModules(config, foundation, addresses, started);
  const programs = [...config.devices.stdio, ...(options.processes ?? [])];
  const devices = await openDeviceConnections(config, programs, foundation, modules, addresses, started);
  const { http, mqtt } = await openListeners(config, foundation, modules, devices, started, listeners);
  const { services, tokens, authentication, provisioning, liveness } = modules;
  const settingsOf = (made: DeviceCredentials) => deviceSettings(made, mqtt, addresses());
  const provision: Tendon["provision"] = (id, clientId) =>
    settingsOf(provisioning.provisioning.decisions.provisionHere(id, clientId, "the gateway").made);
  const erasure = new Erasure({
    store: foundation.store,
    traces: services.calls.traces,
    idempotency: services.idempotency,
    forgetHere: [
      (device) => devices.frames.forget(device),
      (device) => foundation.events.forget(device),
      (device) => modules.vision.forgetPhotos(device),
    ],
    forgetElsewhere: async (erased) =>
      await cluster?.cluster.broadcasts.sendAndWait({ kind: "history_gone", ...erased }),
  });
  const { startDemoDevice } = options;
  const shutdown = new Shutdown({
    clock,
    log,
    drain: config.drain,
    cluster: cluster?.cluster,
    stopBalance: () => cluster?.stopBalance(),
    services,
    devices,
    mqtt,
    started,
  });
  let homeAssistant: HomeAssistant | undefined;
  const { console, endpoints } = await openRoutes(http, {
    ...modules,
    config,
    foundation,
    devices: devices.webSocket,
    httpDevices: devices.http,
    mqtt,
    frames: devices.frames,
    eraseHistory: (erased) => erasure.everywhere(erased),
    addresses,
    homeAssistant: () => homeAssistantView(config, homeAssistant?.state),
    listening: config.http,
    settingsOf,
    startDemoDevice: startDemoDevice && (() => startDemoDevice(provision)),
    settings: options.settings ?? [],
    command: options.command ?? "tendon",
    reportFault: reportFaultTo(log),
    shutdown: () => shutdown,
  });
  await cluster?.open({
    store: foundation.store,
    services,
    tokens,
    authentication,
    provisioning,
    sessions: console.authentication.sessions,
    erasure,
    webhooks: modules.webhooks,
    httpDevices: devices.http,
    cut: (id, reason) => liveness.disconnect(id, reason),
  });
  await listen(http, config.http);
  started.push(() => endpoints.stop());
  endpoints.start();
  const url = addresses().local;
  const removeRunFile = writeRunFile(config, {
    url,
    certificate: certificate?.file,
    locked: foundation.folderLock.locked,
    ports: { http: portOf(http), mqtt: mqtt.port },
  });
  const publicUrl = () => addresses().public;
  homeAssistant = await openHomeAssistant(config, foundation, modules, publicUrl, started);
  await modules.audit.recordStart(foundation, options.settings ?? []);
  log.info({ url, admission: config.devices.admission, version }, "gateway started");
  const fewFiles = openFileWarning();
  if (fewFiles !== undefined) log.warn(fewFiles);

  return {
    url,
    addresses: addresses(),
    config,
    adminToken: foundation.adminToken,
    provision,
    approvalOf: (id) => services.fleet.devices.approvalOf(id),
    reloadCertificate: () => certificate?.reload() ?? false,
    consoleLink: () => console.link("admin"),
    stop() {
      removeRunFile();
      return shutdown.run();
    },
  };
}

/** Opens the HTTP server and the MQTT broker. MQTT listens at once, HTTP only after all routes are registered. */
async function openListeners(
  config: Config,
  foundation: Foundation,
  { services, tokens, authentication, provisioning }: Modules,
  devices: DeviceConnections,
  started: Started,
  listeners: Partial<Listeners>,
): Promise<Listeners> {
  const { clock, events, log, certificate, cluster, store, deviceSecret } = foundation;
  const reportFault = reportFaultTo(log);
  const http = await createHttp({
    ...config.http,
    clock,
    tls: certificate?.pair,
    version,
    reportFault,
    onCut: (from) => events.limited("connection", from),
    onRefused: (from) => events.limited("overload", from),
  });
  listeners.http = http;
  serveCertificate(http, certificate);
  if (cluster !== undefined) forwardMisrouted(http, cluster.cluster, services);
  started.push(() => http.close());
  // Stopped before HTTP, because the HTTP server does not close while its WebSockets are open.
  const mqtt = await startMqtt({
    config,
    certificate,
    clock,
    services,
    events,
    authentication,
    onRevoked: (listener) => tokens.onRevoked(listener),
    isValid: ({ id }) => tokens.current(id) !== undefined,
    credentials: provisioning.credentials,
    store,
    secret: deviceSecret,
    ...provisioning.signIn,
    openDevice: (identity, connection) => devices.openMqtt(identity, connection),
    flooders: devices.flooders,
    reportFault,
  });
  listeners.mqtt = mqtt;
  started.push(() => mqtt.stop());
  return { http, mqtt };
}

function reportFaultTo(log: Foundation["log"]): (error: unknown) => void {
  return (error) => log.error({ err: error }, "a request failed");
}

function addressesFor(config: Config, tls: boolean, { http, mqtt }: Listeners): Addresses {
  return addressesOf({
    host: config.http.host,
    httpPort: portOf(http),
    tls,
    publicUrl: config.http.publicUrl,
    mqttHost: mqtt.host,
    mqttPort: mqtt.port,
    mqttTlsPort: mqtt.tlsPort,
    publicEndpoint: config.mqtt.publicEndpoint,
  });
}

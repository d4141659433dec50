/**
 * Checks what can keep the gateway or a board from working: configuration, data folder, ports, certificate, storage,
 * clocks and the addresses that boards are given. It is read-only and contacts only hosts named in the configuration.
 */
import {
  type Addresses,
  addressesOf,
  type Config,
  type LoadedConfig,
  loadConfig,
  startProblems,
  version,
} from "@tendon/gateway";
import type { McpToken } from "../mcp-token.ts";
import type { RunningSettings, Target } from "../target.ts";
import { checkAccess } from "./access.ts";
import { checkBoardAddresses } from "./board-addresses.ts";
import { checkCertificate } from "./certificate.ts";
import { checkClock } from "./clock.ts";
import { checkDataFolder } from "./data-folder.ts";
import { type Finding, failed, fine } from "./finding.ts";
import { checkHttpDevices } from "./http-devices.ts";
import { checkHomeAssistant, checkServers, checkStorage } from "./outside.ts";
import { checkPorts } from "./ports.ts";
import { checkMcpToken, checkNamed, findGateway } from "./running-gateway.ts";
import { checkVoiceAgents } from "./voice-agents.ts";

export type { Finding } from "./finding.ts";

export interface Examined {
  readonly findings: readonly Finding[];
  readonly running: boolean;
  /** The gateway's address for programs on this machine, whether it is running or not. */
  readonly url: string;
}

export interface DoctorOptions {
  readonly config?: string | undefined;
  readonly data?: string | undefined;
  /** The token of desktop clients, if there is one. */
  readonly clientToken: McpToken | undefined;
}

export async function examine(target: Target | undefined, options: DoctorOptions): Promise<Examined> {
  const program = fine("program", `tendon ${version} on Node ${process.versions.node}`);
  const gateway = target === undefined ? undefined : await findGateway(target);
  const running = gateway !== undefined;
  const loaded = readSettings(options);
  if (!("config" in loaded)) {
    return { findings: [program, loaded], running, url: target?.url ?? defaultUrl };
  }
  const { adminToken, file } = loaded;
  // Prefer the running gateway's settings: it may have been started with other flags and variables.
  const config = running ? withRunningSettings(loaded.config, target?.settings) : loaded.config;
  const storage = await checkStorage(config);
  const addresses = addressesFrom(config, running ? target?.url : undefined);
  const findings = [
    program,
    fine("settings", file ?? "no tendon.yaml; defaults and environment"),
    ...(running ? [] : checkStart(config)),
    ...checkDataFolder(config.data),
    // A running gateway holds its ports and its storage, and reports their state itself.
    ...(gateway === undefined
      ? [...(await checkNamed(target)), ...(await checkPorts(config))]
      : gateway.findings),
    ...(running && config.storage === "sqlite:" ? [] : storage.findings),
    ...(await checkServers(config)),
    ...(await checkHttpDevices(config)),
    ...(await checkVoiceAgents(config)),
    ...(await checkHomeAssistant(config)),
    ...(await addressFindings(config, addresses)),
    ...checkAccess(config, adminToken),
    ...checkClock({
      gatewayMs: gateway?.clockAheadMs,
      databaseMs: storage.clockAheadMs,
      dataFolder: config.data,
    }),
    ...(running && target !== undefined ? await checkMcpToken(target, options.clientToken) : []),
  ];
  return { findings, running, url: target?.url ?? addresses.local };
}

function readSettings(options: DoctorOptions): LoadedConfig | Finding {
  try {
    return loadConfig({
      file: options.config,
      searchIn: ["."],
      env: process.env,
      overrides: options.data === undefined ? {} : { data: options.data },
    });
  } catch (error) {
    return failed("settings", {
      message: error instanceof Error ? error.message : String(error),
      why: "the gateway does not start with this configuration",
      todo: "fix the lines above; docs/reference/configuration.md describes every setting",
    });
  }
}

/** Problems that keep the gateway from starting, except admission and certificates, which have their own checks. */
function checkStart(config: Config): Finding[] {
  const { cert, key } = config.tls;
  const examined = cert !== undefined && key !== undefined;
  return startProblems(config, { allowOpen: true })
    .filter((message) => !(examined && message.startsWith("tls.")))
    .map((message) =>
      failed("settings", {
        message,
        why: "the gateway does not start with this configuration",
        todo: "docs/reference/configuration.md describes every setting",
      }),
    );
}

function withRunningSettings(config: Config, settings: RunningSettings | undefined): Config {
  if (settings === undefined) return config;
  // A setting that is missing in the running gateway is not set, even if this shell's environment sets it.
  const { publicUrl: _url, ...http } = config.http;
  const { publicEndpoint: _endpoint, broker: _broker, tlsPort: _port, ...mqtt } = config.mqtt;
  const { tls, devices } = settings;
  return {
    ...config,
    http: { ...http, ...settings.http },
    mqtt: { ...mqtt, ...settings.mqtt },
    tls,
    devices: { ...config.devices, ...devices },
  };
}

function addressesFrom({ http, mqtt, tls }: Config, runningAt: string | undefined): Addresses {
  // With port 0, only the running gateway knows its port.
  const httpPort = http.port === 0 && runningAt !== undefined ? Number(new URL(runningAt).port) : http.port;
  const broker = mqtt.broker === undefined ? undefined : new URL(mqtt.broker);
  return addressesOf({
    host: http.host,
    httpPort: httpPort === 0 ? anyPort : httpPort,
    tls: tls.cert !== undefined,
    publicUrl: http.publicUrl,
    mqttHost: broker?.hostname,
    mqttPort:
      broker === undefined
        ? portOf(mqtt.port)
        : Number(broker.port || (broker.protocol === "mqtts:" ? 8883 : 1883)),
    mqttTlsPort: broker === undefined && tls.cert !== undefined ? (mqtt.tlsPort ?? 8883) : undefined,
    publicEndpoint: mqtt.publicEndpoint,
  });
}

function portOf(port: Config["mqtt"]["port"]): number | undefined {
  return port === "off" ? undefined : port || anyPort;
}

async function addressFindings(config: Config, addresses: Addresses): Promise<Finding[]> {
  const { tls } = config;
  const { hostname } = new URL(addresses.public);
  return [
    ...(tls.cert === undefined || tls.key === undefined ? [] : checkCertificate(tls.cert, tls.key, hostname)),
    ...(await checkBoardAddresses(config, addresses)),
  ];
}

/** Placeholder for a port that is not known yet. */
const anyPort = 65_535;
/** The address of a gateway with default settings. */
const defaultUrl = "http://127.0.0.1:8000";

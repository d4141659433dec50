/**
 * Looks at everything that a first start, or a board's, can stumble over: settings, data folder, ports, certificate,
 * storage, clocks, and the addresses boards would be given. Nothing is changed, nobody outside the settings is asked.
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
import { checkServers, checkStorage } from "./outside.ts";
import { checkPorts } from "./ports.ts";
import { checkMcpToken, checkNamed, findGateway } from "./running-gateway.ts";

export type { Finding } from "./finding.ts";

export interface Examined {
  readonly findings: readonly Finding[];
  readonly running: boolean;
  /** Where programs of this machine find the gateway, or would. */
  readonly url: string;
}

export interface DoctorOptions {
  readonly config?: string | undefined;
  readonly data?: string | undefined;
  /** The token of desktop clients, where there is one. */
  readonly clientToken: McpToken | undefined;
}

export async function examine(target: Target | undefined, options: DoctorOptions): Promise<Examined> {
  const program = fine("program", `tendon ${version} on Node ${process.versions.node}`);
  const gateway = target === undefined ? undefined : await findGateway(target);
  const running = gateway !== undefined;
  const loaded = readSettings(options);
  if (!("config" in loaded)) {
    return { findings: [program, loaded], running, url: target?.url ?? usualUrl };
  }
  const { adminToken, file } = loaded;
  // The one that runs knows best: it may have been started with other flags and variables.
  const config = running ? asRunning(loaded.config, target?.settings) : loaded.config;
  const storage = await checkStorage(config);
  const addresses = addressesFrom(config, running ? target?.url : undefined);
  const findings = [
    program,
    fine("settings", file ?? "no tendon.yaml; defaults and environment"),
    ...(running ? [] : checkStart(config)),
    ...checkDataFolder(config.data),
    // A gateway that runs has its ports and its storage, and says so itself.
    ...(gateway === undefined
      ? [...(await checkNamed(target)), ...(await checkPorts(config))]
      : gateway.findings),
    ...(running && config.storage === "sqlite:" ? [] : storage.findings),
    ...(await checkServers(config)),
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
      why: "the gateway does not start with them",
      todo: "mend the lines above; docs/configuration.md has every setting",
    });
  }
}

/** What a start would refuse and no other check looks at: admission and whole certificates have theirs. */
function checkStart(config: Config): Finding[] {
  const { cert, key } = config.tls;
  const examined = cert !== undefined && key !== undefined;
  return startProblems(config, { allowOpen: true })
    .filter((message) => !(examined && message.startsWith("tls.")))
    .map((message) =>
      failed("settings", {
        message,
        why: "the gateway does not start with them",
        todo: "docs/configuration.md has every setting",
      }),
    );
}

function asRunning(config: Config, settings: RunningSettings | undefined): Config {
  if (settings === undefined) return config;
  // What the running gateway has left out is not set there, whatever this shell says.
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
  // Where any free port is taken, only the one that runs knows which.
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
        ? mqtt.port || anyPort
        : Number(broker.port || (broker.protocol === "mqtts:" ? 8883 : 1883)),
    publicEndpoint: mqtt.publicEndpoint,
  });
}

async function addressFindings(config: Config, addresses: Addresses): Promise<Finding[]> {
  const { tls } = config;
  const { hostname } = new URL(addresses.public);
  return [
    ...(tls.cert === undefined || tls.key === undefined ? [] : checkCertificate(tls.cert, tls.key, hostname)),
    ...(await checkBoardAddresses(config, addresses)),
  ];
}

/** Stands for one that is not known yet. */
const anyPort = 65_535;
/** Where a gateway listens whose settings say nothing. */
const usualUrl = "http://127.0.0.1:8000";

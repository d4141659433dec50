/**
 * Looks at everything that a first start, or a board's, can stumble over: settings, data folder, ports, certificate,
 * storage, clocks, and the addresses boards would be given. Nothing is changed, nobody outside the settings is asked.
 */
import { addressesOf, type Config, type LoadedConfig, loadConfig, version } from "@tendon/gateway";
import type { Target } from "../target.ts";
import { checkAccess } from "./access.ts";
import { checkBoardAddresses } from "./board-addresses.ts";
import { checkCertificate } from "./certificate.ts";
import { checkClock } from "./clock.ts";
import { checkDataFolder } from "./data-folder.ts";
import { type Finding, failed, fine } from "./finding.ts";
import { checkServers, checkStorage } from "./outside.ts";
import { checkPorts } from "./ports.ts";
import { checkMcpToken, findGateway } from "./running-gateway.ts";

export type { Finding } from "./finding.ts";

export interface Examined {
  readonly findings: readonly Finding[];
  readonly running: boolean;
}

export interface DoctorOptions {
  readonly config?: string | undefined;
  readonly data?: string | undefined;
  /** The token of desktop clients, where there is one. */
  readonly clientToken: string | undefined;
}

export async function examine(target: Target, options: DoctorOptions): Promise<Examined> {
  const program = fine("program", `tendon ${version} on Node ${process.versions.node}`);
  // One that nobody named and that happens to be at the usual address belongs to another folder.
  const gateway = target.named ? await findGateway(target) : undefined;
  const running = gateway !== undefined;
  const loaded = readSettings(options);
  if (!("config" in loaded)) return { findings: [program, loaded], running };
  const { config, adminToken, file } = loaded;
  const storage = await checkStorage(config);
  const findings = [
    program,
    fine("settings", file ?? "no tendon.yaml; defaults and environment"),
    ...checkDataFolder(config.data),
    // A gateway that runs has its ports and its storage, and says so itself.
    ...(gateway === undefined ? await checkPorts(config) : gateway.findings),
    ...(running && config.storage === "sqlite:" ? [] : storage.findings),
    ...(await checkServers(config)),
    ...(await addressFindings(config, target, running)),
    ...checkAccess(config, adminToken),
    ...checkClock({
      gatewayMs: gateway?.clockAheadMs,
      databaseMs: storage.clockAheadMs,
      dataFolder: config.data,
    }),
    ...(running ? await checkMcpToken(target, options.clientToken) : []),
  ];
  return { findings, running };
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

async function addressFindings(config: Config, target: Target, running: boolean): Promise<Finding[]> {
  const { http, mqtt, tls } = config;
  // Where any free port is taken, only the one that runs knows which.
  const httpPort = http.port === 0 && running ? Number(new URL(target.url).port) : http.port;
  const broker = mqtt.broker === undefined ? undefined : new URL(mqtt.broker);
  const addresses = addressesOf({
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
  const { hostname } = new URL(addresses.public);
  return [
    ...(tls.cert === undefined || tls.key === undefined ? [] : checkCertificate(tls.cert, tls.key, hostname)),
    ...(await checkBoardAddresses(config, addresses)),
  ];
}

/** Stands for one that is not known yet. */
const anyPort = 65_535;

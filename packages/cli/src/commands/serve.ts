import path from "node:path";
import {
  type ConfigInput,
  disablePretenuring,
  isLoopbackHost,
  loadConfig,
  openFileWarning,
  otaProblem,
  startGateway,
  type Tendon,
} from "@tendon/gateway";
import type { OtaProblem } from "@tendon/protocol";
import { type Demo, demoProcesses, startDemo } from "../demo.ts";
import { DemoDevices } from "../demo-device.ts";
import { endpointAddresses } from "../endpoint-addresses.ts";
import { colours, complain, print } from "../output.ts";
import { ownCommand, shownCommand } from "../own-command.ts";

interface ServeOptions {
  readonly demo?: boolean;
  readonly host?: string;
  readonly port?: number;
  readonly mqttPort?: number | "off";
  readonly data?: string;
  readonly config?: string;
  readonly allowOpen?: boolean;
  readonly json?: boolean;
}

/** A single gateway exits within 5 s. */
const maxStopMs = 4_500;
const exitReserveMs = 500;
const parentCheckMs = 500;

export async function serve(options: ServeOptions): Promise<void> {
  // Registered first, so that a signal during the start also stops the gateway.
  const stopRequested = stopSignal();
  disablePretenuring();
  const { config, adminToken, settings } = loadConfig({
    file: options.config,
    searchIn: ["."],
    env: process.env,
    // On a terminal, log only warnings and errors beside the ready block. A log file or collector gets everything.
    defaults: process.stderr.isTTY ? { log: { level: "warn" } } : {},
    overrides: flags(options),
  });
  const processes = options.demo === true ? demoProcesses(config) : [];
  const demoDevices = new DemoDevices(config.data);
  const startAbort = new AbortController();
  void stopRequested.then(() => startAbort.abort());
  const { signal } = startAbort;
  const tendon = await startGateway(config, {
    adminToken,
    settings,
    command: shownCommand(),
    allowOpen: options.allowOpen,
    processes,
    startDemoDevice: () => demoDevices.start(),
    signal,
  }).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  if (tendon === undefined) return;
  const demo = options.demo === true ? await startDemo(tendon) : undefined;
  void demoDevices.resume(tendon).catch((error: unknown) => {
    complain(`A virtual device did not start: ${error instanceof Error ? error.message : String(error)}`);
  });
  announce(tendon, options.json === true);
  // On a terminal, SIGHUP means that the terminal was closed; it then ends the gateway by default.
  if (!process.stdout.isTTY) process.on("SIGHUP", () => tendon.reloadCertificate());
  await stopRequested;
  await stop(tendon, [demoDevices, ...(demo === undefined ? [] : [demo])]);
}

function flags(options: ServeOptions): ConfigInput {
  return {
    http: {
      ...(options.host === undefined ? {} : { host: options.host }),
      ...(options.port === undefined ? {} : { port: options.port }),
    },
    ...(options.mqttPort === undefined ? {} : { mqtt: { port: options.mqttPort } }),
    ...(options.data === undefined ? {} : { data: options.data }),
  };
}

function announce(tendon: Tendon, json: boolean): void {
  if (json) {
    print(
      JSON.stringify({
        event: "ready",
        url: tendon.url,
        mqtt: tendon.addresses.mqtt,
        mcp: `${tendon.url}/mcp`,
      }),
    );
    return;
  }
  print(`tendon ready ${tendon.url}`);
  const rows: [string, string][] = [
    ["REST", `${tendon.addresses.public}/api/v1  (reference: ${tendon.addresses.public}/docs)`],
    ["boards (OTA address)", `${tendon.addresses.ota}${otaHint(tendon)}`],
    ["devices (WebSocket)", tendon.addresses.deviceWebSocket],
    ["devices (MQTT)", tendon.addresses.deviceMqtt],
  ];
  // Apps cannot use an external broker, because it does not know the gateway's tokens.
  const { broker, port } = tendon.config.mqtt;
  if (broker === undefined && port !== "off") rows.push(["apps (MQTT)", tendon.addresses.mqtt]);
  if (tendon.addresses.mqtts !== undefined) rows.push(["apps (MQTT with TLS)", tendon.addresses.mqtts]);
  if (tendon.config.endpoint.enabled)
    rows.push(["programs (MCP)", endpointAddresses(tendon.addresses.public).programs]);
  const { adminToken } = tendon;
  if (adminToken !== undefined) {
    const below = path.relative(".", adminToken.file);
    const file = below.startsWith("..") ? adminToken.file : below;
    // Print the token only to a terminal, never into a pipe or a log file.
    const shown = adminToken.isNew && process.stdout.isTTY ? `  ${adminToken.secret}` : "";
    rows.push(["admin token", `${file}${shown}`]);
  }
  // The link signs in as administrator. Print it only to a terminal, like the token.
  if (process.stdout.isTTY) rows.unshift(["console", tendon.consoleLink()]);
  else
    rows.unshift([
      "console",
      `${tendon.addresses.public}/  (\`${ownCommand()} console\` prints a link that signs in)`,
    ]);
  for (const [name, value] of rows) print(`  ${colours.dim(name.padEnd(22))} ${value}`);
  const unencrypted =
    "traffic is not encrypted: others in this network can read tokens; set tls.cert and tls.key";
  const warnings = [isUnencrypted(tendon.config) ? unencrypted : undefined, openFileWarning()];
  for (const warning of warnings) {
    if (warning !== undefined) print(`  ${colours.yellow("warning".padEnd(22))} ${warning}`);
  }
  print(`  ${colours.dim("try".padEnd(22))} ${ownCommand()} devices`);
}

/** A public https address means that a proxy in front of the gateway encrypts. */
function isUnencrypted({ http, tls }: Tendon["config"]): boolean {
  return (
    tls.cert === undefined && !isLoopbackHost(http.host) && http.publicUrl?.startsWith("https:") !== true
  );
}

/** Explains why boards cannot use the OTA address, which is so with the default settings. */
function otaHint({ addresses, config }: Tendon): string {
  const { host, publicUrl } = config.http;
  const problem = otaProblem({ ota: addresses.ota, host, publicUrl });
  if (problem !== undefined) return `  (${otaHints[problem]})`;
  // Set by the image, Podman and systemd. The machine's own address cannot be seen from inside.
  if (publicUrl === undefined && process.env["container"] !== undefined)
    return "  (the container's address; for boards, set TENDON_HTTP_PUBLIC_URL to that of the machine)";
  return "";
}

const otaHints: Readonly<Record<OtaProblem, string>> = {
  this_machine: "this machine only; for boards, listen with --host 0.0.0.0",
  public_url: "this machine only; for boards, set http.publicUrl",
  unreadable: "boards cannot parse it; set http.publicUrl to http(s)://HOST:PORT",
};

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => {
        resolve();
        // A second signal means now.
        process.once(signal, () => process.exit(1));
      });
    }
    if (process.env["npm_lifecycle_event"] !== undefined) whenParentEnds(resolve);
  });
}

/** npm signals only its shell, which does not forward the signal. Stop when that parent process has ended. */
function whenParentEnds(onEnd: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onEnd();
  }, parentCheckMs);
  timer.unref();
}

function stopMs({ cluster, drain }: Tendon["config"]): number {
  return cluster === undefined ? maxStopMs : drain.readyDelayMs + drain.timeoutMs - exitReserveMs;
}

async function stop(tendon: Tendon, demos: readonly Demo[]): Promise<void> {
  const deadline = setTimeout(() => {
    complain("The gateway did not stop in time; exiting anyway.");
    process.exit(0);
  }, stopMs(tendon.config));
  await Promise.all(demos.map((demo) => demo.stop()));
  await tendon.stop();
  clearTimeout(deadline);
}

import path from "node:path";
import {
  type ConfigInput,
  keepYoungApart,
  loadConfig,
  otaProblem,
  startGateway,
  type Tendon,
} from "@tendon/gateway";
import type { OtaProblem } from "@tendon/protocol";
import { type Demo, demoProcesses, startDemo } from "../demo.ts";
import { DemoDevices } from "../demo-device.ts";
import { colours, complain, print } from "../output.ts";

interface ServeOptions {
  readonly demo?: boolean;
  readonly host?: string;
  readonly port?: number;
  readonly mqttPort?: number;
  readonly data?: string;
  readonly config?: string;
  readonly allowOpen?: boolean;
  readonly json?: boolean;
}

const longestStopMs = 4_500;
const parentCheckMs = 500;

export async function serve(options: ServeOptions): Promise<void> {
  // Listened for from the first moment: whoever starts the gateway may change their mind before it is ready.
  const told = stopSignal();
  keepYoungApart();
  const { config, adminToken } = loadConfig({
    file: options.config,
    searchIn: ["."],
    env: process.env,
    // A person sees the ready block and what goes wrong; a log file or a collector gets everything.
    defaults: process.stderr.isTTY ? { log: { level: "warn" } } : {},
    overrides: flags(options),
  });
  const processes = options.demo === true ? demoProcesses(config) : [];
  const more = new DemoDevices();
  const changedTheirMind = new AbortController();
  void told.then(() => changedTheirMind.abort());
  const { signal } = changedTheirMind;
  const tendon = await startGateway(config, {
    adminToken,
    allowOpen: options.allowOpen,
    processes,
    startDemoDevice: (provision) => more.start(provision),
    signal,
  }).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  if (tendon === undefined) return;
  const demo = options.demo === true ? await startDemo(tendon) : undefined;
  announce(tendon, options.json === true);
  // On a terminal the signal says that the terminal is gone, and ends the gateway as it ends any program.
  if (!process.stdout.isTTY) process.on("SIGHUP", () => tendon.reloadCertificate());
  await told;
  await stop(tendon, [more, ...(demo === undefined ? [] : [demo])]);
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
    ["REST", `${tendon.addresses.public}/api/v1  (described at ${tendon.addresses.public}/docs)`],
    ["boards (OTA address)", `${tendon.addresses.ota}${otaHint(tendon)}`],
    ["devices (WebSocket)", tendon.addresses.deviceWebSocket],
    ["devices (MQTT)", tendon.addresses.deviceMqtt],
  ];
  // An outside broker is not for apps: it does not know our tokens.
  if (tendon.config.mqtt.broker === undefined) rows.push(["apps (MQTT)", tendon.addresses.mqtt]);
  if (tendon.addresses.mqtts !== undefined) rows.push(["apps (MQTT with TLS)", tendon.addresses.mqtts]);
  const { adminToken } = tendon;
  if (adminToken !== undefined) {
    const below = path.relative(".", adminToken.file);
    const file = below.startsWith("..") ? adminToken.file : below;
    // The token itself is for a person's eyes only: never into a pipe or a log file.
    const shown = adminToken.isNew && process.stdout.isTTY ? `  ${adminToken.secret}` : "";
    rows.push(["admin token", `${file}${shown}`]);
  }
  // Whoever has the link is the administrator: for a person's eyes only, as the token is.
  if (process.stdout.isTTY) rows.unshift(["console", tendon.consoleLink()]);
  else
    rows.unshift([
      "console",
      `${tendon.addresses.public}/  (\`tendon console\` prints a link that signs in)`,
    ]);
  for (const [name, value] of rows) print(`  ${colours.dim(name.padEnd(22))} ${value}`);
  print(`  ${colours.dim("try".padEnd(22))} npx tendon devices`);
}

/** The address is for boards, and on a first start none can use it. */
function otaHint({ addresses, config }: Tendon): string {
  const { host, publicUrl } = config.http;
  const problem = otaProblem({ ota: addresses.ota, host, publicUrl });
  return problem === undefined ? "" : `  (${otaHints[problem]})`;
}

const otaHints: Readonly<Record<OtaProblem, string>> = {
  this_machine: "this machine only; for boards, listen with --host 0.0.0.0",
  public_url: "this machine only; for boards, set http.publicUrl",
  unreadable: "boards cannot read it; set http.publicUrl to http(s)://HOST:PORT",
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

/** npm tells a shell to end, and the shell tells nobody: that it is gone is all we see. */
function whenParentEnds(told: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    told();
  }, parentCheckMs);
  timer.unref();
}

async function stop(tendon: Tendon, demos: readonly Demo[]): Promise<void> {
  const overdue = setTimeout(() => {
    complain("stopping took too long; leaving anyway");
    process.exit(0);
  }, longestStopMs);
  await Promise.all(demos.map((demo) => demo.stop()));
  await tendon.stop();
  clearTimeout(overdue);
}

import { createPrivateKey, X509Certificate } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { lanAddress, loadConfig, version } from "@tendon/gateway";
import { clientSnippets, placeOf } from "../client-snippets.ts";
import { fetchFrom } from "../gateway-fetch.ts";
import { mcpToken } from "../mcp-token.ts";
import { colours, print, printJson } from "../output.ts";
import { readTarget, type Target, type TargetOptions } from "../target.ts";

interface DoctorOptions extends TargetOptions {
  readonly config?: string;
  readonly json?: boolean;
}

interface Finding {
  readonly check: string;
  readonly state: "ok" | "warning" | "failed";
  readonly message: string;
}

/** Looks at everything a first start can stumble over; exit code 1 when something would keep it from working. */
export async function doctor(options: DoctorOptions): Promise<void> {
  const findings: Finding[] = [checkNode()];
  const target = readTarget(options);
  const settings = checkSettings(options, findings);
  if (settings !== undefined) {
    findings.push(checkData(settings.data));
    const running = await findGateway(target);
    // The snippets below name its file; where it cannot be made, the first client says why.
    if (running !== undefined) await mcpToken(options).catch(() => undefined);
    findings.push(running ?? (await checkPort("port", settings.http.host, settings.http.port, "--port")));
    if (running === undefined && settings.mqtt.broker === undefined) {
      findings.push(await checkPort("MQTT port", settings.http.host, settings.mqtt.port, "--mqtt-port"));
    }
    const { cert, key } = settings.tls;
    if (cert !== undefined && key !== undefined) findings.push(checkCertificate(cert, key));
    findings.push(checkDeviceAddress(settings.http.host, settings.http.publicUrl));
    findings.push(checkAdmission(settings.devices.admission, settings.http.host));
  }
  const failed = findings.some(({ state }) => state === "failed");
  if (options.json === true) printJson({ ok: !failed, findings, clients: clientSnippets(placeOf(target)) });
  else {
    const marks = { ok: colours.green("ok  "), warning: colours.yellow("warn"), failed: colours.red("FAIL") };
    for (const { check, state, message } of findings)
      print(`${marks[state]}  ${check.padEnd(16)} ${message}`);
    print("");
    print(snippets(target));
  }
  if (failed) process.exitCode = 1;
}

function checkNode(): Finding {
  return { check: "Node", state: "ok", message: `${process.versions.node}, tendon ${version}` };
}

function checkSettings(options: DoctorOptions, findings: Finding[]) {
  try {
    const { config, file } = loadConfig({
      file: options.config,
      searchIn: ["."],
      env: process.env,
      overrides: options.data === undefined ? {} : { data: options.data },
    });
    findings.push({
      check: "settings",
      state: "ok",
      message: file ?? "no tendon.yaml; defaults and environment",
    });
    return config;
  } catch (error) {
    findings.push({
      check: "settings",
      state: "failed",
      message: error instanceof Error ? error.message : String(error),
    });
    return undefined;
  }
}

function checkData(folder: string): Finding {
  const check = "data folder";
  const full = path.resolve(folder);
  // The folder may not exist yet: then the nearest one above it has to let us make it.
  let nearest = full;
  while (!fs.existsSync(nearest) && path.dirname(nearest) !== nearest) nearest = path.dirname(nearest);
  try {
    fs.accessSync(nearest, fs.constants.R_OK | fs.constants.W_OK);
    return { check, state: "ok", message: nearest === full ? full : `${full} (made at the first start)` };
  } catch {
    return { check, state: "failed", message: `${nearest} cannot be written to; choose another with --data` };
  }
}

async function findGateway(target: Target): Promise<Finding | undefined> {
  try {
    const response = await fetchFrom(target)(`${target.url}/readyz`, { signal: AbortSignal.timeout(2_000) });
    const body = (await response.json()) as { status?: unknown };
    if (typeof body.status !== "string") return undefined;
    const state = response.ok ? "ok" : "warning";
    return { check: "gateway", state, message: `running at ${target.url}, ${body.status}` };
  } catch {
    return undefined;
  }
}

function checkPort(check: string, host: string, port: number, flag: string): Promise<Finding> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once("error", (error: NodeJS.ErrnoException) => {
      const why =
        error.code === "EADDRINUSE" ? "is taken by another program" : `cannot be used (${error.code})`;
      resolve({ check, state: "failed", message: `${host}:${port} ${why}; choose another with ${flag}` });
    });
    server.listen(port, host, () => {
      server.close(() =>
        resolve({ check, state: "ok", message: `${host}:${port} is free; no gateway is running` }),
      );
    });
  });
}

/** Wi-Fi boards trust public authorities only, and their clocks are right: an expired certificate is refused. */
function checkCertificate(file: string, keyFile: string): Finding {
  const check = "certificate";
  try {
    const certificate = new X509Certificate(fs.readFileSync(file));
    if (!certificate.checkPrivateKey(createPrivateKey(fs.readFileSync(keyFile)))) {
      return { check, state: "failed", message: `${keyFile} is not the key of ${file}` };
    }
    const left = Math.floor((Date.parse(certificate.validTo) - Date.now()) / 86_400_000);
    if (left < 0) return { check, state: "failed", message: `${file} expired on ${certificate.validTo}` };
    if (certificate.checkIssued(certificate)) {
      return { check, state: "warning", message: `${file} is self-signed: boards on Wi-Fi refuse it` };
    }
    return { check, state: left < 14 ? "warning" : "ok", message: `${file} is valid for ${left} more days` };
  } catch (error) {
    return {
      check,
      state: "failed",
      message: `${file}: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

function checkDeviceAddress(host: string, publicUrl: string | undefined): Finding {
  const check = "device address";
  if (publicUrl !== undefined) return { check, state: "ok", message: publicUrl };
  if (host === "0.0.0.0" || host === "::") {
    const address = lanAddress();
    if (address !== undefined)
      return { check, state: "ok", message: `${address}, found on this machine's network` };
    return { check, state: "warning", message: "no network found; boards could not reach this machine" };
  }
  if (host.startsWith("127.") || host === "localhost" || host === "::1") {
    return {
      check,
      state: "warning",
      message: `${host} is this machine alone: real boards cannot reach it (virtual ones can). Use --host 0.0.0.0.`,
    };
  }
  return { check, state: "ok", message: host };
}

function checkAdmission(admission: string, host: string): Finding {
  const check = "admission";
  if (admission !== "open")
    return { check, state: "ok", message: `${admission}: only provisioned devices connect` };
  const loopback = host.startsWith("127.") || host === "localhost" || host === "::1";
  return {
    check,
    state: loopback ? "ok" : "warning",
    message: loopback
      ? "open, on this machine alone"
      : "open: any device that reaches this address may connect",
  };
}

function snippets(target: Target): string {
  const token = path.join(target.dataFolder, "admin-token");
  return [
    colours.bold("A first session"),
    "  npx tendon devices",
    "  npx tendon call <alias> self.get_device_status",
    "",
    colours.bold("The same over REST"),
    `  curl ${target.certificate === undefined ? "" : `--cacert ${target.certificate} `}-H "Authorization: Bearer $(cat ${token})" ${target.url}/api/v1/devices`,
    ...clientSnippets(placeOf(target)).flatMap(({ client, where, text }) => [
      "",
      `${colours.bold(client)}: ${where}`,
      ...text.split("\n").map((line) => `  ${line}`),
    ]),
  ].join("\n");
}

import net from "node:net";
import type { Config } from "@tendon/gateway";
import { probeServer } from "../connection-failure.ts";
import { type Finding, failed, fine } from "./finding.ts";
import { ownerOf } from "./port-owner.ts";

interface Wanted {
  readonly check: string;
  readonly port: number;
  /** The flag or setting that changes the port. */
  readonly setting: string;
}

const mqttTlsPort = 8883;

/** Checks whether the gateway's ports are free, and names the program that uses them otherwise. */
export async function checkPorts(config: Config): Promise<Finding[]> {
  const { http, mqtt, tls } = config;
  const wanted: Wanted[] = [{ check: "port", port: http.port, setting: "--port or http.port" }];
  if (mqtt.broker === undefined) {
    if (mqtt.port !== "off")
      wanted.push({ check: "MQTT port", port: mqtt.port, setting: "--mqtt-port or mqtt.port" });
    if (tls.cert !== undefined)
      wanted.push({ check: "MQTT TLS port", port: mqtt.tlsPort ?? mqttTlsPort, setting: "mqtt.tlsPort" });
  }
  return await Promise.all(wanted.map((one) => checkPort(http.host, one)));
}

async function checkPort(host: string, { check, port, setting }: Wanted): Promise<Finding> {
  const problem = await tryToListen(host, port);
  if (problem === undefined) {
    return fine(check, port === 0 ? "any free port" : `${host}:${port} is free; no gateway is running`);
  }
  const why = "the gateway does not start without it";
  if (problem === "EADDRINUSE") {
    return failed(check, {
      message: `${host}:${port} is in use by ${await describeOwner(host, port)}`,
      why,
      todo: `stop that program, or choose another port with ${setting}`,
    });
  }
  const reason = {
    EACCES: "is not allowed for this user: ports below 1024 need administrator rights",
    EADDRNOTAVAIL: "is not available: this machine does not have that address",
    ENOTFOUND: "is not available: the name does not resolve",
  }[problem];
  const todo =
    problem === "EACCES"
      ? `choose a port above 1023 with ${setting}`
      : "set http.host to 127.0.0.1 or 0.0.0.0";
  return failed(check, { message: `${host}:${port} ${reason ?? `cannot be used (${problem})`}`, why, todo });
}

function tryToListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

async function describeOwner(host: string, port: number): Promise<string> {
  const owner = ownerOf(port);
  const shown = owner === undefined ? "" : `: ${owner}`;
  const here = ["0.0.0.0", "::"].includes(host) ? "127.0.0.1" : host;
  const url = `http://${here.includes(":") ? `[${here}]` : here}:${port}`;
  return (await probeServer({ url, certificate: undefined })) === "gateway"
    ? `another Tendon gateway, with a different data folder${shown}`
    : `another program that is not a Tendon gateway${shown}`;
}

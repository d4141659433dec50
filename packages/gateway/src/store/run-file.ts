import fs from "node:fs";
import path from "node:path";
import { readText, runFileName } from "./running-gateway.ts";

/** Settings that determine addresses and admission. */
interface AddressConfig {
  readonly data: string;
  readonly http: { readonly host: string; readonly publicUrl?: string; readonly trustProxy: boolean };
  readonly mqtt: {
    readonly broker?: string;
    readonly port: number | "off";
    readonly tlsPort?: number;
    readonly publicEndpoint?: string;
  };
  readonly tls: { readonly cert?: string; readonly key?: string };
  readonly devices: { readonly admission: string };
}

interface Listening {
  readonly url: string;
  /** The actual ports, also if port 0 was configured. */
  readonly ports: { readonly http: number; readonly mqtt: number | undefined };
  /** The path of a certificate that commands trust, regardless of its issuer. */
  readonly certificate: string | undefined;
  /** Whether the gateway locked the data folder. Commands use the lock to see whether it runs. */
  readonly locked: boolean;
}

/**
 * Writes the gateway's address to the data folder, so that commands find it on any port, and the settings behind its
 * addresses, because commands do not know its flags and environment. Returns a function that removes the file.
 */
export function writeRunFile(config: AddressConfig, listening: Listening): () => void {
  const { url, ports, certificate, locked } = listening;
  const file = path.resolve(config.data, runFileName);
  const { host, publicUrl, trustProxy } = config.http;
  const { broker, port, tlsPort, publicEndpoint } = config.mqtt;
  const { cert, key } = config.tls;
  const settings = {
    http: { host, port: ports.http, publicUrl, trustProxy },
    mqtt: {
      broker: broker && withoutCredentials(broker),
      port: broker === undefined ? (ports.mqtt ?? "off") : port,
      tlsPort,
      publicEndpoint,
    },
    tls: { cert: cert && path.resolve(cert), key: key && path.resolve(key) },
    devices: { admission: config.devices.admission },
  };
  const text = `${JSON.stringify({ url, pid: process.pid, locked, certificate, settings })}\n`;
  fs.writeFileSync(`${file}.${process.pid}`, text);
  fs.renameSync(`${file}.${process.pid}`, file);
  return () => {
    // Another gateway on the same folder may have replaced the file.
    if (readText(file) === text) fs.rmSync(file, { force: true });
  };
}

function withoutCredentials(broker: string): string {
  const url = new URL(broker);
  url.username = "";
  url.password = "";
  return url.href;
}

import fs from "node:fs";
import path from "node:path";
import { readText, runFileName } from "./living-gateway.ts";

/** Settings that decide about addresses, and about who is let in there. */
interface AddressConfig {
  readonly data: string;
  readonly http: { readonly host: string; readonly publicUrl?: string; readonly trustProxy: boolean };
  readonly mqtt: {
    readonly broker?: string;
    readonly port: number;
    readonly tlsPort?: number;
    readonly publicEndpoint?: string;
  };
  readonly tls: { readonly cert?: string; readonly key?: string };
  readonly devices: { readonly admission: string };
}

interface Listening {
  readonly url: string;
  /** Those it got, whichever were asked for. */
  readonly ports: { readonly http: number; readonly mqtt: number };
  /** A file: commands trust what is in it, whoever has signed it. */
  readonly certificate: string | undefined;
  /** Whether the data folder is held by a lock, by which commands tell that this gateway lives. */
  readonly locked: boolean;
}

/**
 * Leaves word in the data folder where this gateway listens, so that commands find it on any port, and of the settings
 * behind its addresses: the flags and variables of its start are known to nobody else.
 */
export function announceGateway(config: AddressConfig, listening: Listening): () => void {
  const { url, ports, certificate, locked } = listening;
  const file = path.resolve(config.data, runFileName);
  const { host, publicUrl, trustProxy } = config.http;
  const { broker, port, tlsPort, publicEndpoint } = config.mqtt;
  const { cert, key } = config.tls;
  const settings = {
    http: { host, port: ports.http, publicUrl, trustProxy },
    mqtt: {
      broker: broker && withoutCredentials(broker),
      port: broker === undefined ? ports.mqtt : port,
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
    // Another gateway on the same folder may have written its own since.
    if (readText(file) === text) fs.rmSync(file, { force: true });
  };
}

function withoutCredentials(broker: string): string {
  const url = new URL(broker);
  url.username = "";
  url.password = "";
  return url.href;
}

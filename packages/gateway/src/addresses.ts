/** The addresses that people and devices are given. They come from settings and interfaces, never from a request. */
import os from "node:os";

export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

function isEveryInterface(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** The first IPv4 address a board on the same network could reach. */
export function lanAddress(): string | undefined {
  for (const addresses of Object.values(os.networkInterfaces())) {
    for (const { address, family, internal } of addresses ?? [])
      if (family === "IPv4" && !internal) return address;
  }
  return undefined;
}

export interface Addresses {
  /** For programs on this machine. */
  readonly local: string;
  /** For people and devices elsewhere, as far as there is a way. */
  readonly public: string;
  /** The WebSocket address a device is given. */
  readonly deviceWebSocket: string;
}

export function addressesOf(host: string, port: number, publicUrl: string | undefined): Addresses {
  const local = `http://${bracketed(isEveryInterface(host) ? "127.0.0.1" : host)}:${port}`;
  const reachable = isEveryInterface(host) ? `http://${lanAddress() ?? "127.0.0.1"}:${port}` : local;
  const open = (publicUrl ?? reachable).replace(/\/+$/, "");
  return { local, public: open, deviceWebSocket: `${open.replace(/^http/, "ws")}/xiaozhi/v1/` };
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

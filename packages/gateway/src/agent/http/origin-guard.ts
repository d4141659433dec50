/**
 * Rejects requests of web pages of other sites, and host names of DNS rebinding attacks.
 */
import os from "node:os";
import type { FastifyRequest } from "fastify";
import { TendonError } from "../../errors.ts";

const maxRemembered = 64;

export class OriginGuard {
  readonly #hosts: Set<string>;
  /** Accepted header values: nearly every request has the same one. */
  readonly #passed = new Set<string>();

  readonly #allows: (origin: string) => boolean;

  constructor(listenHost: string, publicUrl: string | undefined, allows: (origin: string) => boolean) {
    this.#allows = allows;
    this.#hosts = new Set(["localhost", "127.0.0.1", "[::1]", listenHost.toLowerCase()]);
    if (publicUrl !== undefined) this.#hosts.add(new URL(publicUrl).hostname.toLowerCase());
    if (listenHost === "0.0.0.0" || listenHost === "::") this.#addOwnAddresses();
  }

  check(request: FastifyRequest): void {
    if (!this.#serves(`http://${request.headers.host ?? ""}`)) {
      throw new TendonError(
        "forbidden",
        "the Host header is not a name of this gateway; set http.publicUrl to the address that clients use",
      );
    }
    const { origin } = request.headers;
    if (origin === undefined || this.#serves(origin) || this.#allows(origin)) return;
    throw new TendonError(
      "forbidden",
      "pages of another origin may not use this gateway; list the origin in http.allowedOrigins to allow it",
    );
  }

  #serves(address: string): boolean {
    if (this.#passed.has(address)) return true;
    const host = hostName(address);
    if (host === undefined || !this.#hosts.has(host)) return false;
    if (this.#passed.size < maxRemembered) this.#passed.add(address);
    return true;
  }

  #addOwnAddresses(): void {
    for (const addresses of Object.values(os.networkInterfaces())) {
      for (const { address, family } of addresses ?? [])
        this.#hosts.add(family === "IPv6" ? `[${address}]` : address);
    }
    this.#hosts.add(os.hostname().toLowerCase());
  }
}

/** The host name without the port: the contract ignores ports. */
function hostName(address: string): string | undefined {
  try {
    return new URL(address).hostname.toLowerCase();
  } catch {
    return undefined;
  }
}

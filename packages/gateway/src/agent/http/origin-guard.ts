/**
 * Keeps web pages of other sites, and names that point at this machine by trick (DNS rebinding), away from what only
 * people and programs of this gateway may use. Device paths are not guarded: firmware sends odd Host headers.
 */
import os from "node:os";
import type { FastifyRequest } from "fastify";
import { TendonError } from "../../errors.ts";

const mostRemembered = 64;

export class OriginGuard {
  readonly #hosts: Set<string>;
  /** Headers that passed, as they were written: nearly every request has the same one. */
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
        "this Host is not served here; set http.publicUrl to the name people use",
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
    if (this.#passed.size < mostRemembered) this.#passed.add(address);
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

/** The name alone: ports are ignored, because they say nothing about whose page it is. */
function hostName(address: string): string | undefined {
  try {
    return new URL(address).hostname.toLowerCase();
  } catch {
    return undefined;
  }
}

/**
 * Where webhooks may go: public hosts over https, and hosts of `webhooks.allowHosts`. A name is resolved before each new
 * connection, and the connection goes to the addresses that were checked, so that a changed DNS record cannot lead to
 * the gateway's own network.
 */
import ipaddr from "ipaddr.js";
import { type AllowedHost, readAllowedHost } from "../../access-settings.ts";
import { ipOf, isPublic, type Resolve, type ResolvedAddress, resolveByDns } from "../../checked-addresses.ts";
import { TendonError } from "../../errors.ts";

/** A target that must not be contacted. */
export class TargetRefused extends Error {
  override readonly name = "TargetRefused";
}

const localName = /(?:^|\.)localhost\.?$/;

export class Targets {
  readonly #allowed: readonly AllowedHost[];
  readonly #resolve: Resolve;

  constructor(allowHosts: readonly string[], resolve: Resolve = resolveByDns) {
    // The configuration was checked, so every entry can be parsed.
    this.#allowed = allowHosts.flatMap((host) => readAllowedHost(host) ?? []);
    this.#resolve = resolve;
  }

  /** The address of a webhook in its normalised form; throws `bad_request` if it is not allowed. */
  check(text: string): string {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined) throw refused("must be a complete address, such as https://host/path");
    if (url.protocol !== "https:" && url.protocol !== "http:")
      throw refused("must be an https address, or an http address of a host in `webhooks.allowHosts`");
    if (url.username !== "" || url.password !== "")
      throw refused("must not have a user name or password; receivers verify the signature");
    if (!this.#isListed(url)) {
      if (url.protocol === "http:")
        throw refused(`must use https, or its host must be in \`webhooks.allowHosts\` (${url.host})`);
      const ip = ipOf(url.hostname);
      if (localName.test(url.hostname) || (ip !== undefined && !isPublic(ip)))
        throw refused(`leads to a private address; add ${url.host} to \`webhooks.allowHosts\` to allow it`);
    }
    url.hash = "";
    return url.href;
  }

  /** The addresses to connect to. Throws if one of them is private and the host is not listed. */
  async resolve(url: URL): Promise<readonly ResolvedAddress[]> {
    // The settings may have changed since the webhook was created.
    try {
      this.check(url.href);
    } catch (error) {
      throw new TargetRefused(error instanceof TendonError ? error.message : "not allowed");
    }
    const ip = ipOf(url.hostname);
    if (ip !== undefined) return [{ address: ip.toString(), family: ip.kind() === "ipv4" ? 4 : 6 }];
    const addresses = await this.#resolve(url.hostname);
    if (addresses.length === 0) throw new TargetRefused(`${url.hostname} has no address`);
    const found = addresses.find(({ address }) => !isPublic(ipaddr.process(address)));
    if (found !== undefined && !this.#isListed(url))
      throw new TargetRefused(
        `${url.hostname} resolves to a private address, and is not in \`webhooks.allowHosts\``,
      );
    return addresses;
  }

  #isListed(url: URL): boolean {
    const port = url.port || (url.protocol === "https:" ? "443" : "80");
    return this.#allowed.some(
      (entry) => entry.host === url.hostname && (entry.port === undefined || entry.port === port),
    );
  }
}

function refused(message: string): TendonError {
  return new TendonError("bad_request", `/url ${message}`);
}

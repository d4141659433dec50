/**
 * Checks of the addresses that a host name leads to. A name is resolved for each new connection, and the connection goes
 * to the addresses that were checked, so that a changed DNS record cannot lead elsewhere.
 */
import { lookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

type Ip = ipaddr.IPv4 | ipaddr.IPv6;

/** An address that must not be contacted. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused";
}

export const resolveByDns: Resolve = async (hostname) => await lookup(hostname, { all: true });

/** The IP address of a URL's host; `undefined` for a name. */
export function ipOf(hostname: string): Ip | undefined {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : undefined;
}

export function isPublic(ip: Ip): boolean {
  return ip.range() === "unicast";
}

/** Connects to addresses that were checked, without resolving the name again. */
export function lookupOf(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
}

/** Resolves a name for a new connection. `callback` gets an error if one of the addresses is refused. */
export function checkedLookup(
  check: (address: string) => string | undefined,
  resolve = resolveByDns,
): LookupFunction {
  return (hostname, options, callback) => {
    const connect = (addresses: readonly ResolvedAddress[]) => {
      const refused = addresses.map(({ address }) => check(address)).find((why) => why !== undefined);
      if (refused !== undefined)
        callback(new AddressRefused(`${hostname} leads to an address that is not allowed (${refused})`), "");
      else if (addresses.length === 0) callback(new AddressRefused(`${hostname} has no address`), "");
      else lookupOf(addresses)(hostname, options, callback);
    };
    resolve(hostname).then(connect, (error: NodeJS.ErrnoException) => callback(error, ""));
  };
}

/** Addresses at which clouds serve credentials of the machine, outside the link-local range. */
const metadata = new Set(["100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254"]);
/** Private networks and the machine itself are allowed: that is where devices are. */
const ownRanges = new Set(["unicast", "private", "loopback", "uniqueLocal", "carrierGradeNat"]);

/** Why a device must not be at this IP address: link-local and metadata addresses, and those of no single host. */
export function deviceAddressProblem(address: string): string | undefined {
  const ip = ipOf(address);
  if (ip === undefined) return "not an IP address";
  if (metadata.has(ip.toString())) return "a metadata address";
  const range = ip.range();
  if (range === "linkLocal") return "a link-local address";
  // IPv6-only networks reach IPv4 hosts this way; the last four bytes are the IPv4 address.
  if (range === "rfc6052") return deviceAddressProblem(ip.toByteArray().slice(-4).join("."));
  return ownRanges.has(range) ? undefined : `${range} address`;
}

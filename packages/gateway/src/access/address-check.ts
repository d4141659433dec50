/**
 * Checks one address against the allowed hosts [ACC-6], [ACC-7]. Devices parse addresses less strictly than browsers.
 * An address that the two could parse differently is rejected, whatever its host.
 */
import ipaddr from "ipaddr.js";
import type { AllowedHost } from "../access-settings.ts";

export interface AddressFault {
  /** True if it is not an address; false if its host is not allowed. */
  readonly malformed: boolean;
  readonly message: string;
}

const localNames = /(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|private|home\.arpa)$/;
/** Control characters, white space and the backslash, which browsers drop or replace. */
const oddCharacters = /[\p{Cc}\s\\]/u;

/** Stricter than browsers, which also accept `files.example;x` or `a$b` as a host. */
const plainHost = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/;

export function addressFault(text: string, hosts: readonly AllowedHost[]): AddressFault | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined)
    return { malformed: true, message: "must be a complete address, such as https://host/path" };
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return { malformed: false, message: "must be an http or https address" };
  }
  if (!isPlainlyWritten(text, url)) {
    return {
      malformed: false,
      message:
        "must not have a user name, white space, backslashes, capitals in the scheme or unusual characters in the host",
    };
  }
  if (hosts.some((allowed) => leadsTo(url, allowed))) return undefined;
  return { malformed: false, message: `leads to ${url.host}, which is not in access.urlHosts` };
}

/**
 * Whether scheme and host are written exactly as a browser normalises them, with a path after them, so that all parsers
 * agree. The scheme must be in lower case, because some boards do not read `HTTPS` as `https` and would connect
 * without encryption.
 */
function isPlainlyWritten(text: string, url: URL): boolean {
  if (url.username !== "" || url.password !== "" || oddCharacters.test(text)) return false;
  if (!text.startsWith(url.protocol) || !plainHost.test(url.hostname)) return false;
  const head = `${url.protocol}//${url.host}`;
  if (text.slice(0, head.length).toLowerCase() !== head) return false;
  const standardPort = url.protocol === "https:" ? ":443" : ":80";
  const rest = text.slice(head.length);
  const after = url.port === "" && rest.startsWith(standardPort) ? rest.slice(standardPort.length) : rest;
  return after === "" || after.startsWith("/");
}

function leadsTo(url: URL, { protocol, host, port }: AllowedHost): boolean {
  if (protocol !== undefined && protocol !== url.protocol) return false;
  if (port !== undefined && port !== (url.port || (url.protocol === "https:" ? "443" : "80"))) return false;
  // An exact entry may also be private: the operator has named it.
  if (host === url.hostname) return true;
  if (host === "*") return isPublic(url.hostname);
  return host.startsWith("*.") && url.hostname.endsWith(host.slice(1)) && ipOf(url.hostname) === undefined;
}

/** Whether the host is neither this machine nor in a private network. */
function isPublic(hostname: string): boolean {
  const ip = ipOf(hostname);
  if (ip !== undefined) return ip.range() === "unicast";
  return hostname.includes(".") && !localNames.test(hostname.replace(/\.$/, ""));
}

function ipOf(hostname: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : undefined;
}

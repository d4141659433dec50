/**
 * Where one address leads [ACC-6], [ACC-7]. Devices read addresses less carefully than browsers do; one that the two
 * could understand differently is refused, whatever its host.
 */
import ipaddr from "ipaddr.js";
import type { AllowedHost } from "../access-settings.ts";

export interface AddressFault {
  /** It is no address at all, rather than one that leads somewhere else. */
  readonly malformed: boolean;
  readonly message: string;
}

const localNames = /(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|private|home\.arpa)$/;
/** Controls, blanks and the backslash, which browsers drop or turn round. */
const oddCharacters = /[\p{Cc}\s\\]/u;

/** A browser also takes `files.example;x` or `a$b` for the name of a host. */
const plainHost = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/;

export function addressFault(text: string, hosts: readonly AllowedHost[]): AddressFault | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined)
    return { malformed: true, message: "must be a whole address, such as https://host/path" };
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return { malformed: false, message: "must be an http or https address" };
  }
  if (!isPlainlyWritten(text, url)) {
    return {
      malformed: false,
      message: "must be written plainly: no user, blanks, backslashes, capitals in https or odd hosts",
    };
  }
  if (hosts.some((allowed) => leadsTo(url, allowed))) return undefined;
  return { malformed: false, message: `leads to ${url.host}, which access.urlHosts does not name` };
}

/**
 * Exactly as a browser would write its beginning, and a path after it: no parser can read it differently. The scheme
 * is in small letters, because to some boards `HTTPS` is not `https` and they would go there without encryption.
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
  // Named as it is, by an operator who knows what stands there.
  if (host === url.hostname) return true;
  if (host === "*") return isPublic(url.hostname);
  return host.startsWith("*.") && url.hostname.endsWith(host.slice(1)) && ipOf(url.hostname) === undefined;
}

/** Not this machine, not this network, nothing that only looks like somewhere else. */
function isPublic(hostname: string): boolean {
  const ip = ipOf(hostname);
  if (ip !== undefined) return ip.range() === "unicast";
  return hostname.includes(".") && !localNames.test(hostname.replace(/\.$/, ""));
}

function ipOf(hostname: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : undefined;
}

import { fromText } from "./byte-text.ts";

export interface HttpTarget {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

/**
 * An address as the firmware's HTTP client takes it apart: the host ends at the first slash and its port begins
 * at a colon. That client knows no queries, fragments or user names, so those are part of the path behind a
 * slash, and part of a host that does not exist before one. IPv6 literals, which it does not know either, are
 * read here, so that a virtual device reaches a gateway that has no other address.
 */
export function parseHttpAddress(url: string): HttpTarget | undefined {
  const parts = /^(https?):\/\/(\[[0-9a-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?(?:\/|$)/i.exec(url);
  if (parts === null) return undefined;
  const [, scheme = "", host = "", portText] = parts;
  const secure = scheme.toLowerCase() === "https";
  const port = portText === undefined ? (secure ? 443 : 80) : Number(portText);
  if (port < 1 || port > 65_535) return undefined;
  return { secure, host: host.replace(/^\[|\]$/g, ""), port, path: requestPath(url) };
}

/** What stands in the request line: everything from the first slash on, in bytes, with the fragment. */
export function requestPath(url: string): string {
  const afterScheme = url.indexOf("://") + "://".length;
  const slash = url.indexOf("/", afterScheme);
  if (slash < 0) return "/";
  // The one change: a space or a control character would end the request line early.
  return fromText(url.slice(slash)).replace(
    /[\0-\x20]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}

/**
 * Parses an address as a board does [OTA-9]. The firmware's parser differs from a browser's: it supports no user names,
 * no IPv6 and only numeric ports, takes the first colon anywhere as the port's, and crashes on unexpected input at every
 * start.
 */
export type BoardUrl =
  | {
      readonly kind: "read";
      readonly secure: boolean;
      readonly host: string;
      readonly port: number;
      readonly path: string;
    }
  | { readonly kind: "misread"; readonly why: string };

const shortest = 10;
const securePorts = { plain: 80, secure: 443 };

export function readBoardUrl(url: string): BoardUrl {
  const schemeEnd = url.indexOf("://");
  if (schemeEnd === -1) return misread("it has no `://`");
  if (url.length < shortest)
    return misread(`it has fewer than ${shortest} characters, and boards ignore those`);
  if (/\s/.test(url)) return misread("it has a blank in it");
  const secure = ["https", "wss"].includes(url.slice(0, schemeEnd));
  const rest = url.slice(schemeEnd + 3);
  const slash = rest.indexOf("/");
  const colon = rest.indexOf(":");
  const authority = slash === -1 ? rest : rest.slice(0, slash);
  if (authority.includes("@")) return misread("it has a user name, which boards take for a part of the host");
  if (authority.includes("[")) return misread("it has an IPv6 address, which boards do not know");
  if (/[?#]/.test(authority)) return misread("it has a `?` or `#` right behind the host");
  if (colon !== -1 && slash !== -1 && colon > slash) {
    return misread(
      "it has no port, and a `:` further on, which boards take for the port's; they restart over it again and again",
    );
  }
  const host = colon === -1 ? authority : authority.slice(0, colon);
  if (!/^[A-Za-z0-9._-]+$/.test(host))
    return misread(
      "its host has characters that boards cannot look up; give an IPv4 address or a plain name",
    );
  const usual = secure ? securePorts.secure : securePorts.plain;
  const port = colon === -1 ? usual : portOf(authority.slice(colon + 1));
  if (port === undefined) return misread("its port is no number from 1 to 65535");
  return { kind: "read", secure, host, port, path: slash === -1 ? "/" : rest.slice(slash) };
}

/** An MQTT endpoint, `host` or `host:port`. Boards use TLS on port 8883, the default, and only there. */
export function readBoardEndpoint(endpoint: string): BoardUrl {
  const [host = "", written, ...more] = endpoint.split(":");
  if (more.length > 0) return misread("it has several colons; an IPv6 address is nothing boards know");
  if (!/^[A-Za-z0-9._-]+$/.test(host))
    return misread(
      "its host has characters that boards cannot look up; give an IPv4 address or a plain name",
    );
  const port = written === undefined ? boardTlsPort : portOf(written);
  if (port === undefined) return misread("its port is no number from 1 to 65535");
  return { kind: "read", secure: port === boardTlsPort, host, port, path: "" };
}

export const boardTlsPort = 8883;

function portOf(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

function misread(why: string): BoardUrl {
  return { kind: "misread", why };
}

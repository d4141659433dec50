/** Addresses and headers of MCP servers over HTTP, from the configuration or from a request. */
import { limits } from "@tendon/protocol";
import { deviceAddressProblem, ipOf } from "./checked-addresses.ts";

const namePattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
/** Visible characters of Latin-1, spaces and tabs. */
const valuePattern = /^[\t\x20-\x7e\xa0-\xff]*$/;
/** Set by the transport, or meaningless for one request. */
const reserved = new Set([
  "accept",
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "last-event-id",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The problem of a server's address, as the end of a sentence about it. */
export function serverAddressProblem(address: string): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol))
    return "must be a complete http or https address, such as http://192.168.1.20/mcp";
  if (url.username !== "" || url.password !== "")
    return "must not have a user name or password; use the header Authorization";
  const ip = ipOf(url.hostname);
  const problem = ip === undefined ? undefined : deviceAddressProblem(ip.toString());
  return problem === undefined ? undefined : `is not allowed: ${problem}`;
}

/** The problem of a server's headers, as the end of a sentence about them. Values are not shown. */
export function headersProblem(headers: Readonly<Record<string, string>>): string | undefined {
  const entries = Object.entries(headers);
  if (entries.length > limits.serverHeaders.max) return `must be at most ${limits.serverHeaders.max}`;
  const size = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (size > limits.serverHeaderBytes.max)
    return `must have at most ${limits.serverHeaderBytes.max} characters together`;
  for (const [name, value] of entries) {
    const shown = name.slice(0, 64);
    if (!namePattern.test(name)) return `has a name that is not a header (${JSON.stringify(shown)})`;
    if (reserved.has(name.toLowerCase()) || /^mcp-/i.test(name))
      return `must not have \`${shown}\`, which the gateway sets`;
    if (!valuePattern.test(value)) return `has a value with characters that are not allowed (\`${shown}\`)`;
  }
  return undefined;
}

/** Lines of `Name: value`; empty lines and lines that start with # are skipped. Returns a problem as text. */
export function parseHeaders(text: string): Record<string, string> | string {
  const headers: Record<string, string> = {};
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const colon = line.indexOf(":");
    if (colon === -1) return `line ${index + 1} must be \`Name: value\``;
    headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  const problem = headersProblem(headers);
  return problem === undefined ? headers : `the file ${problem}`;
}

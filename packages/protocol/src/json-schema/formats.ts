/**
 * The checked formats, each in one pass over the text. Every other `format` is published but not evaluated, like
 * `pattern`: regular expressions can take exponential time on a text that the caller chose.
 */
export interface Format {
  readonly fits: (text: string) => boolean;
  /** Description, to be read after "must be". */
  readonly words: string;
}

const uri: Format = { fits: isUri, words: "an address, such as https://host/path" };

export const formats: ReadonlyMap<string, Format> = new Map([
  ["date-time", { fits: isDateTime, words: "a date and time, such as 2026-01-31T12:00:00Z" }],
  ["date", { fits: isDate, words: "a date, such as 2026-01-31" }],
  ["time", { fits: isTime, words: "a time, such as 12:00:00Z" }],
  ["email", { fits: isEmail, words: "an email address" }],
  ["hostname", { fits: isHostname, words: "a host name" }],
  ["ipv4", { fits: isIpv4, words: "an IPv4 address" }],
  ["ipv6", { fits: isIpv6, words: "an IPv6 address" }],
  ["uuid", { fits: isUuid, words: "a UUID" }],
  ["uri", uri],
  ["url", uri],
]);

export function formatOf(name: string): Format | undefined {
  return formats.get(name.toLowerCase());
}

const daysOfMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  if (year === undefined) return false;
  const y = Number(year);
  const leap = month === "02" && y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0);
  const days = (daysOfMonth[Number(month) - 1] ?? 0) + (leap ? 1 : 0);
  return Number(day) >= 1 && Number(day) <= days;
}

function isTime(text: string): boolean {
  const parts = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|[+-](\d\d):(\d\d))$/i.exec(text);
  if (parts === null) return false;
  const [, hour, minute, second, offsetHour = 0, offsetMinute = 0] = parts;
  // 60 is a leap second.
  return (
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) <= 60 &&
    Number(offsetHour) < 24 &&
    Number(offsetMinute) < 60
  );
}

function isDateTime(text: string): boolean {
  return /^[t\s]$/i.test(text.charAt(10)) && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  const name = text.slice(0, at);
  const host = text.slice(at + 1);
  if (at < 1 || name.length > 64) return false;
  const quoted = name.length > 1 && name.startsWith('"') && name.endsWith('"');
  const plain =
    !/[\s\p{Cc}@"(),:;<>[\\\]]/u.test(name) &&
    !name.startsWith(".") &&
    !name.endsWith(".") &&
    !name.includes("..");
  return (quoted || plain) && (isHostname(host) || isBracketedAddress(host));
}

function isBracketedAddress(host: string): boolean {
  if (!host.startsWith("[") || !host.endsWith("]")) return false;
  const address = host.slice(1, -1);
  return isIpv4(address) || (/^ipv6:/i.test(address) && isIpv6(address.slice(5)));
}

function isHostname(text: string): boolean {
  if (text.length === 0 || text.length > 253) return false;
  return text
    .split(".")
    .every(
      (label) =>
        label.length <= 63 && /^[a-z0-9-]+$/i.test(label) && !label.startsWith("-") && !label.endsWith("-"),
    );
}

function isIpv4(text: string): boolean {
  if (text.length > 15) return false;
  const parts = text.split(".");
  // Some parsers read a leading zero as octal.
  return parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256);
}

function isIpv6(text: string): boolean {
  if (text.length > 45) return false;
  const [head = "", tail, ...more] = text.split("::");
  if (more.length > 0) return false;
  const before = groupsOf(head, tail === undefined);
  const after = tail === undefined ? 0 : groupsOf(tail, true);
  if (before === undefined || after === undefined) return false;
  return tail === undefined ? before === 8 : before + after < 8;
}

/** The number of 16-bit groups; an IPv4 address at the end counts as two. */
function groupsOf(text: string, mayEndInIpv4: boolean): number | undefined {
  if (text === "") return 0;
  const groups = text.split(":");
  const last = groups.at(-1) ?? "";
  const mapped = mayEndInIpv4 && isIpv4(last);
  const plain = mapped ? groups.slice(0, -1) : groups;
  if (!plain.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return plain.length + (mapped ? 2 : 0);
}

function isUuid(text: string): boolean {
  return text.length === 36 && /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
}

/** A scheme and a rest without characters that are invalid in addresses. Letters of any language are allowed. */
function isUri(text: string): boolean {
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(text)?.[0];
  if (scheme === undefined || scheme.length === text.length) return false;
  return !/[\s\p{Cc}<>"\\^`{|}]/u.test(text) && !/%(?![0-9a-f]{2})/i.test(text);
}

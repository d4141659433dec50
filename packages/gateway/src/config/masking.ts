/** The settings as they may be shown: passwords, tokens, keys and the variables of programs are hidden. */

const secretName = /token|password|passwd|secret|apikey|key$/i;
/** Places, not secrets. */
const harmless = new Set(["tls.key", "tokenFile"]);
const shownInstead = "(hidden)";

export function withoutSecrets(value: unknown, name = "", section = ""): unknown {
  if (typeof value === "string") {
    if (secretName.test(name) && !harmless.has(name) && !harmless.has(`${section}.${name}`))
      return shownInstead;
    return withoutSecretsInUrl(value);
  }
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      name === "args" ? argument(item, value[index - 1]) : withoutSecrets(item, name, section),
    );
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      name === "env" ? shownInstead : withoutSecrets(item, key, name),
    ]),
  );
}

/** `--token=…`, or what follows `--token`. */
function argument(value: unknown, before: unknown): unknown {
  if (typeof value !== "string") return value;
  if (typeof before === "string" && /^-/.test(before) && !before.includes("=") && secretName.test(before))
    return shownInstead;
  const [, option = "", given] = /^(-[^=]*)=(.*)$/s.exec(value) ?? [];
  if (given !== undefined && secretName.test(option)) return `${option}=${shownInstead}`;
  return withoutSecretsInUrl(value);
}

/**
 * The password of an address, whatever characters it has; the whole of what stands before the host where there is no
 * password, unless that is a user name (NATS takes a token there); and secrets of its query.
 */
function withoutSecretsInUrl(text: string): string {
  const [, scheme = "", rest] = /^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is.exec(text) ?? [];
  if (rest === undefined) return text;
  // A password with a question mark in it is written wrongly, and hidden all the same.
  const wrong = !rest.split("?", 1)[0]?.includes("@") && /:[^/]*\?.*@/.test(rest);
  const [, beforeQuery = rest, query] = wrong ? [] : (/^([^?]*)\?(.*)$/s.exec(rest) ?? []);
  const end = beforeQuery.lastIndexOf("@");
  const who = end === -1 ? "" : beforeQuery.slice(0, end);
  const where = beforeQuery.slice(end + 1);
  const shownQuery = query === undefined ? "" : `?${query.split("&").map(parameter).join("&")}`;
  return `${scheme}${end === -1 ? "" : `${hideIn(who, scheme)}@`}${where}${shownQuery}`;
}

function hideIn(who: string, scheme: string): string {
  const colon = who.indexOf(":");
  if (colon !== -1) return `${who.slice(0, colon)}:${shownInstead}`;
  return /^(nats|tls):/i.test(scheme) ? shownInstead : who;
}

function parameter(pair: string): string {
  const [name = ""] = pair.split("=");
  return secretName.test(name) ? `${name}=${shownInstead}` : pair;
}

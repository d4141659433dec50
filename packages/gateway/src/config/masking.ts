/** Hides passwords, tokens, keys, environment variables of programs and headers of servers in the configuration. */

const secretName = /token|password|passwd|secret|apikey|key$/i;
/** Paths of files, not secrets. */
const notSecret = new Set(["tls.key", "tokenFile", "passwordFile", "homeAssistant.token"]);
const mask = "(hidden)";
/** Every value in them may be a secret. */
const hiddenMaps = new Set(["env", "headers"]);

export function withoutSecrets(value: unknown, name = "", section = ""): unknown {
  if (typeof value === "string") {
    if (secretName.test(name) && !notSecret.has(name) && !notSecret.has(`${section}.${name}`)) return mask;
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
      hiddenMaps.has(name) ? mask : withoutSecrets(item, key, name),
    ]),
  );
}

/** Hides the value of `--token=…`, or of `--token …`. */
function argument(value: unknown, before: unknown): unknown {
  if (typeof value !== "string") return value;
  if (typeof before === "string" && /^-/.test(before) && !before.includes("=") && secretName.test(before))
    return mask;
  const [, option = "", given] = /^(-[^=]*)=(.*)$/s.exec(value) ?? [];
  if (given !== undefined && secretName.test(option)) return `${option}=${mask}`;
  return withoutSecretsInUrl(value);
}

/**
 * Hides the password of an address, whatever characters it has, and secrets in its query. For NATS, user information
 * without a password is a token and is hidden too.
 */
function withoutSecretsInUrl(text: string): string {
  const [, scheme = "", rest] = /^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is.exec(text) ?? [];
  if (rest === undefined) return text;
  // A password with an unescaped question mark is invalid, and is hidden too.
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
  if (colon !== -1) return `${who.slice(0, colon)}:${mask}`;
  return /^(nats|tls):/i.test(scheme) ? mask : who;
}

function parameter(pair: string): string {
  const [name = ""] = pair.split("=");
  return secretName.test(name) ? `${name}=${mask}` : pair;
}

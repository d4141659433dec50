import { type Config, isLoopbackHost } from "@tendon/gateway";
import { type Finding, fine, warning } from "./finding.ts";

const common = /passw|changeme|letmein|secret|admin|tendon|qwert|token|123456|abcdef|test/i;
const fewCharacters = 8;
const longTokenLength = 32;

/** Checks which devices and callers the gateway would accept. */
export function checkAccess({ devices, http }: Config, adminToken: string | undefined): Finding[] {
  return [checkAdmission(devices.admission, http.host), ...checkToken(adminToken, http.host)];
}

function checkAdmission(admission: string, host: string): Finding {
  if (admission !== "open")
    return fine("admission", `${admission}: devices without credentials must be approved or are rejected`);
  if (isLoopbackHost(host)) return fine("admission", "open, but only this machine can connect");
  return warning("admission", {
    message: `open, and other machines can reach ${host}`,
    why: "anyone in the network can connect a device, and agents will use its tools",
    todo: "set devices.admission to approve; with `open` the gateway starts only with --allow-open",
  });
}

/** The findings never contain the token itself. */
function checkToken(token: string | undefined, host: string): Finding[] {
  if (token === undefined) return [];
  const distinct = new Set(token).size;
  const weak =
    distinct < fewCharacters ||
    /^\d+$/.test(token) ||
    (token.length < longTokenLength && common.test(token)) ||
    /^(.{1,6})\1+$/.test(token);
  if (!weak) return [fine("TENDON_TOKEN", `${token.length} characters`)];
  return [
    warning("TENDON_TOKEN", {
      message: "easy to guess: a common word, only digits, or few different characters",
      why: isLoopbackHost(host)
        ? "every program on this machine can try to guess it"
        : "it is the admin token, and everyone who can reach this address can try to guess it",
      todo: "generate one with: openssl rand -base64 24",
    }),
  ];
}

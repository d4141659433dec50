import { type Config, isLoopbackHost } from "@tendon/gateway";
import { type Finding, fine, warning } from "./finding.ts";

const common = /passw|changeme|letmein|secret|admin|tendon|qwert|token|123456|abcdef|test/i;
const fewCharacters = 8;
const longEnough = 32;

/** Who could come in from where. */
export function checkAccess({ devices, http }: Config, adminToken: string | undefined): Finding[] {
  return [checkAdmission(devices.admission, http.host), ...checkToken(adminToken, http.host)];
}

function checkAdmission(admission: string, host: string): Finding {
  if (admission !== "open")
    return fine("admission", `${admission}: devices without credentials wait or stay out`);
  if (isLoopbackHost(host)) return fine("admission", "open, on this machine alone");
  return warning("admission", {
    message: `open, and ${host} can be reached by others`,
    why: "anybody in the network can connect a device, and agents will talk to it",
    todo: "set devices.admission: approve; the gateway starts like this only with --allow-open",
  });
}

/** Only what can be said without repeating it. */
function checkToken(token: string | undefined, host: string): Finding[] {
  if (token === undefined) return [];
  const distinct = new Set(token).size;
  const weak =
    distinct < fewCharacters ||
    /^\d+$/.test(token) ||
    (token.length < longEnough && common.test(token)) ||
    /^(.{1,6})\1+$/.test(token);
  if (!weak) return [fine("TENDON_TOKEN", `${token.length} characters`)];
  return [
    warning("TENDON_TOKEN", {
      message: "it can be guessed: a word, digits alone, or few different characters",
      why: isLoopbackHost(host)
        ? "every program on this machine may try"
        : "it is the admin's, and everybody who reaches this address may try",
      todo: "make one: openssl rand -base64 24",
    }),
  ];
}

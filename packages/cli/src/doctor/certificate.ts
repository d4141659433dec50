import { createPrivateKey, X509Certificate } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import { rootCertificates } from "node:tls";
import { isLoopbackHost } from "@tendon/gateway";
import { type Finding, failed, fine, warning } from "./finding.ts";

const check = "certificate";
const dayMs = 86_400_000;
const warnDays = 14;

/** Checks whether boards and browsers will accept the certificate for `host`, the public host name. */
export function checkCertificate(file: string, keyFile: string, host: string): Finding[] {
  let chain: X509Certificate[];
  try {
    chain = readChain(file);
    const [own] = chain;
    if (own === undefined) return [unusable(`${file} contains no certificate`)];
    if (!own.checkPrivateKey(createPrivateKey(fs.readFileSync(keyFile))))
      return [unusable(`${keyFile} is not the key of ${file}`)];
    return [
      ...checkDates(file, own),
      ...checkName(file, own, host),
      ...checkAuthority(file, chain, host),
      ...checkMode(keyFile),
    ];
  } catch (error) {
    return [unusable(`${file}, ${keyFile}: ${error instanceof Error ? error.message : String(error)}`)];
  }
}

function unusable(message: string): Finding {
  return failed(check, {
    message,
    why: "the gateway does not start with it",
    todo: "set tls.cert to the whole chain (fullchain.pem) and tls.key to its key, both PEM",
  });
}

function readChain(file: string): X509Certificate[] {
  const text = fs.readFileSync(file, "utf8");
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

function checkDates(file: string, { validFrom, validTo }: X509Certificate): Finding[] {
  const now = Date.now();
  const renew = "renew it; the gateway serves the new files without a restart";
  if (Date.parse(validTo) < now) {
    const why = "boards and every client that verifies certificates refuse to connect";
    return [failed(check, { message: `${file} expired on ${validTo}`, why, todo: renew })];
  }
  if (Date.parse(validFrom) > now) {
    const why = "it is not valid yet, unless this machine's clock is behind";
    return [failed(check, { message: `${file} is valid from ${validFrom}`, why, todo: "check the clock" })];
  }
  const days = Math.floor((Date.parse(validTo) - now) / dayMs);
  if (days >= warnDays) return [fine(check, `${file} is valid for ${days} more days`)];
  const why = "after that, boards and every client that verifies certificates refuse to connect";
  return [warning(check, { message: `${file} expires in ${days} days`, why, todo: renew })];
}

function checkName(file: string, own: X509Certificate, host: string): Finding[] {
  const covered = net.isIP(host) === 0 ? own.checkHost(host) : own.checkIP(host);
  if (covered !== undefined) return [];
  return [
    failed("certificate's name", {
      message: `${file} is not for ${host} (${own.subjectAltName ?? own.subject})`,
      why: "boards and browsers connect to that name, and reject a certificate for another",
      todo: "get a certificate for this name, or set http.publicUrl to a name it covers",
    }),
  ];
}

/** Boards on Wi-Fi trust only the public authorities in their firmware. Boards with a modem do not verify certificates. */
function checkAuthority(file: string, chain: readonly X509Certificate[], host: string): Finding[] {
  const own = chain[0];
  if (own === undefined || isPublic(chain)) return [];
  const selfSigned = own.checkIssued(own);
  const trouble = {
    message: selfSigned
      ? `${file} is self-signed`
      : `${file} is not signed by a public authority, or its chain is incomplete`,
    why: "boards on Wi-Fi trust only public authorities and will not connect; 4G boards do not verify certificates",
    todo: "use a certificate of a public authority with its full chain, use a proxy that has one, or serve boards without TLS in a private network",
  };
  return [
    isLoopbackHost(host)
      ? fine("authority", `${trouble.message}, which is enough on this machine`)
      : warning("authority", trouble),
  ];
}

function isPublic(chain: readonly X509Certificate[]): boolean {
  let last = chain[0];
  if (last === undefined) return false;
  for (const next of chain.slice(1)) if (last.checkIssued(next) && last.verify(next.publicKey)) last = next;
  const end = last;
  return rootCertificates.some((pem) => {
    const root = new X509Certificate(pem);
    return (
      root.fingerprint256 === end.fingerprint256 || (end.checkIssued(root) && end.verify(root.publicKey))
    );
  });
}

function checkMode(keyFile: string): Finding[] {
  if (process.platform === "win32" || (fs.statSync(keyFile).mode & 0o007) === 0) return [];
  return [
    warning("certificate's key", {
      message: `every user of this machine can read ${keyFile}`,
      why: "with the key, another server can impersonate this gateway",
      todo: `chmod 600 ${keyFile}`,
    }),
  ];
}

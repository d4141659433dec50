import { createPrivateKey, X509Certificate } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import { rootCertificates } from "node:tls";
import { isLoopbackHost } from "@tendon/gateway";
import { type Finding, failed, fine, warning } from "./finding.ts";

const check = "certificate";
const dayMs = 86_400_000;
const soonDays = 14;

/** What boards and people make of the certificate; `host` is the one they are sent to. */
export function checkCertificate(file: string, keyFile: string, host: string): Finding[] {
  let chain: X509Certificate[];
  try {
    chain = readChain(file);
    const [own] = chain;
    if (own === undefined) return [unusable(`${file} has no certificate in it`)];
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
    const why = "nobody who checks certificates connects any more, boards among them";
    return [failed(check, { message: `${file} expired on ${validTo}`, why, todo: renew })];
  }
  if (Date.parse(validFrom) > now) {
    const why = "it does not count yet, unless this machine's clock is behind";
    return [failed(check, { message: `${file} begins on ${validFrom}`, why, todo: "look at the clock" })];
  }
  const days = Math.floor((Date.parse(validTo) - now) / dayMs);
  if (days >= soonDays) return [fine(check, `${file} is valid for ${days} more days`)];
  const why = "afterwards nobody who checks certificates connects any more";
  return [warning(check, { message: `${file} ends in ${days} days`, why, todo: renew })];
}

function checkName(file: string, own: X509Certificate, host: string): Finding[] {
  const covered = net.isIP(host) === 0 ? own.checkHost(host) : own.checkIP(host);
  if (covered !== undefined) return [];
  return [
    failed("certificate's name", {
      message: `${file} is not for ${host} (${own.subjectAltName ?? own.subject})`,
      why: "boards and people are sent to that name, and refuse a certificate for another",
      todo: "get one for this name, or set http.publicUrl to a name it is for",
    }),
  ];
}

/** Boards on Wi-Fi have the public authorities built in and take no other; modems check nothing. */
function checkAuthority(file: string, chain: readonly X509Certificate[], host: string): Finding[] {
  const own = chain[0];
  if (own === undefined || isPublic(chain)) return [];
  const selfSigned = own.checkIssued(own);
  const trouble = {
    message: selfSigned
      ? `${file} is self-signed`
      : `${file} does not lead to a public authority: a private one, or a chain that is not complete`,
    why: "boards on Wi-Fi trust public authorities only and will not connect; 4G boards do not check",
    todo: "use a certificate of a public authority (with its whole chain), put a proxy that has one in front, or serve boards without TLS in a network of your own",
  };
  return [
    isLoopbackHost(host)
      ? fine("authority", `${trouble.message}, which does for this machine alone`)
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
      message: `${keyFile} can be read by everybody on this machine`,
      why: "whoever has the key can pass for this gateway",
      todo: `chmod 600 ${keyFile}`,
    }),
  ];
}

/**
 * The certificate of `tls.cert` and `tls.key`: read and checked before anything listens, and looked at again from time
 * to time, so that a renewed one is served without a restart [TLS-2]. A pair that cannot be used never replaces one
 * that can: renewals write two files, and somebody may look between them.
 */
import { createPrivateKey, hash, type KeyObject, X509Certificate } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { createSecureContext } from "node:tls";
import type { Clock, Timer } from "../../clock.ts";
import type { Config } from "../../config/config.ts";
import { messageOf, StartError } from "../../errors.ts";
import type { Events } from "../../events/events.ts";

/** What a TLS server is given, as it stands in the files. */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface CertificateNeeds {
  readonly clock: Clock;
  readonly events: Events;
}

const lookAgainMs = 30_000;
const dayMs = 86_400_000;
const soonMs = 14 * dayMs;

/** `undefined` where no certificate is configured. */
export function openCertificate(tls: Config["tls"], needs: CertificateNeeds): Certificate | undefined {
  const files = together(tls);
  return files === undefined ? undefined : new Certificate(files, needs);
}

/** Throws a StartError where a certificate is configured that could not be served at this time. */
export function readUsablePair(tls: Config["tls"], now: number): void {
  const files = together(tls);
  if (files !== undefined) checkPair(readPair(files), files, now);
}

interface Files {
  readonly cert: string;
  readonly key: string;
}

function together({ cert, key }: Config["tls"]): Files | undefined {
  if ((cert === undefined) !== (key === undefined)) throw new StartError("tls.cert and tls.key go together.");
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

export class Certificate {
  /** Where the certificate is, for programs on this machine that are to trust it. */
  readonly file: string;
  readonly #files: Files;
  readonly #needs: CertificateNeeds;
  readonly #servers = new Set<(pair: KeyPair) => void>();
  readonly #timer: Timer;
  #pair: KeyPair;
  #validTo = "";
  #remindedAt = Number.NEGATIVE_INFINITY;
  /** What was looked at last, good or bad: nothing is told twice. */
  #seen: string;

  constructor(files: Files, needs: CertificateNeeds) {
    this.#files = files;
    this.#needs = needs;
    this.file = path.resolve(files.cert);
    this.#pair = readPair(files);
    this.#seen = digestOf(this.#pair);
    this.#check(this.#pair);
    this.#timer = needs.clock.every(lookAgainMs, () => this.reload());
  }

  get pair(): KeyPair {
    return this.#pair;
  }

  /** Told of every new pair; connections that stand keep the one they began with. */
  serve(use: (pair: KeyPair) => void): void {
    this.#servers.add(use);
  }

  /** Looks at the files now; says whether another certificate is served from now on. */
  reload(): boolean {
    const { seen, pair, why } = this.#look();
    this.#remind();
    if (seen === this.#seen) return false;
    this.#seen = seen;
    if (pair === undefined) {
      this.#needs.events.certificate("refused", why);
      return false;
    }
    this.#pair = pair;
    for (const use of this.#servers) use(pair);
    this.#needs.events.certificate("renewed", this.#files.cert);
    return true;
  }

  stop(): void {
    this.#timer.cancel();
  }

  #look(): { readonly seen: string; readonly pair?: KeyPair; readonly why: string } {
    let seen: string | undefined;
    try {
      const pair = readPair(this.#files);
      seen = digestOf(pair);
      if (seen !== this.#seen) this.#check(pair);
      return { seen, pair, why: "" };
    } catch (error) {
      const why = messageOf(error);
      return { seen: seen ?? why, why };
    }
  }

  #check(pair: KeyPair): void {
    this.#validTo = checkPair(pair, this.#files, this.#needs.clock.now());
    this.#remind();
  }

  /** Once a day while the end is near, and after it. */
  #remind(): void {
    const now = this.#needs.clock.now();
    if (Date.parse(this.#validTo) - now >= soonMs || now - this.#remindedAt < dayMs) return;
    this.#remindedAt = now;
    this.#needs.events.certificate("ends soon", `${this.#files.cert} is valid until ${this.#validTo}`);
  }
}

/** Says until when it is valid; throws a StartError that says which file is wrong, and how. */
function checkPair(pair: KeyPair, { cert, key }: Files, now: number): string {
  const certificate = readCertificate(pair.cert, cert);
  if (!certificate.checkPrivateKey(readKey(pair.key, key))) {
    throw new StartError(`tls.key (${key}) is not the key of tls.cert (${cert}).`);
  }
  if (Date.parse(certificate.validTo) - now <= 0) {
    throw new StartError(`tls.cert (${cert}) has expired: it was valid until ${certificate.validTo}.`);
  }
  try {
    createSecureContext(pair);
  } catch (error) {
    throw new StartError(`tls.cert (${cert}) cannot be used (${messageOf(error)}).`);
  }
  return certificate.validTo;
}

function readPair(files: Files): KeyPair {
  return {
    cert: fs.readFileSync(readable(files.cert, "tls.cert")),
    key: fs.readFileSync(readable(files.key, "tls.key")),
  };
}

function readable(file: string, setting: string): string {
  try {
    fs.accessSync(file, fs.constants.R_OK);
    if (fs.statSync(file).isFile()) return file;
  } catch (error) {
    throw new StartError(`${setting}: ${file} cannot be read (${messageOf(error)}).`);
  }
  throw new StartError(`${setting}: ${file} is not a file.`);
}

function readCertificate(bytes: Buffer, file: string): X509Certificate {
  try {
    return new X509Certificate(bytes);
  } catch (error) {
    throw new StartError(`tls.cert (${file}) is not a certificate in PEM (${messageOf(error)}).`);
  }
}

function readKey(bytes: Buffer, file: string): KeyObject {
  if (bytes.includes("ENCRYPTED")) {
    throw new StartError(`tls.key (${file}) has a passphrase; the gateway needs one without.`);
  }
  try {
    return createPrivateKey(bytes);
  } catch {
    // What the library says of a broken key is about its own decoders and helps nobody.
    throw new StartError(`tls.key (${file}) is not a private key in PEM.`);
  }
}

function digestOf({ cert, key }: KeyPair): string {
  return hash("sha256", Buffer.concat([cert, Buffer.alloc(1), key]));
}

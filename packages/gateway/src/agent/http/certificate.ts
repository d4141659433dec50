/**
 * The certificate of `tls.cert` and `tls.key`. The gateway reads and checks it before it listens, and reloads it every
 * 30 s, so that a renewed one is served without a restart [TLS-2]. An unusable pair never replaces a usable one: a
 * renewal writes two files, and a reload may happen between the two writes.
 */
import { createPrivateKey, hash, type KeyObject, X509Certificate } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { createSecureContext } from "node:tls";
import type { Clock, Timer } from "../../clock.ts";
import type { Config } from "../../config/config.ts";
import { messageOf, StartError } from "../../errors.ts";
import type { Events } from "../../events/events.ts";

/** The content of the two files. */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface CertificateDependencies {
  readonly clock: Clock;
  readonly events: Events;
}

const reloadIntervalMs = 30_000;
const dayMs = 86_400_000;
const expiryWarningMs = 14 * dayMs;

/** `undefined` if no certificate is configured. */
export function openCertificate(
  tls: Config["tls"],
  dependencies: CertificateDependencies,
): Certificate | undefined {
  const files = filesOf(tls);
  return files === undefined ? undefined : new Certificate(files, dependencies);
}

/** Throws a StartError if the configured certificate could not be served at this time. */
export function readUsablePair(tls: Config["tls"], now: number): void {
  const files = filesOf(tls);
  if (files !== undefined) checkPair(readPair(files), files, now);
}

interface Files {
  readonly cert: string;
  readonly key: string;
}

function filesOf({ cert, key }: Config["tls"]): Files | undefined {
  if ((cert === undefined) !== (key === undefined)) throw new StartError("tls.cert and tls.key go together.");
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

export class Certificate {
  /** The certificate's file, for programs on this machine that must trust it. */
  readonly file: string;
  readonly #files: Files;
  readonly #dependencies: CertificateDependencies;
  readonly #servers = new Set<(pair: KeyPair) => void>();
  readonly #timer: Timer;
  #pair: KeyPair;
  #validTo = "";
  #warnedAt = Number.NEGATIVE_INFINITY;
  #warnedExpired = false;
  /** The digest or the error of the last read, so that each change is reported once. */
  #lastRead: string;

  constructor(files: Files, dependencies: CertificateDependencies) {
    this.#files = files;
    this.#dependencies = dependencies;
    this.file = path.resolve(files.cert);
    this.#pair = readPair(files);
    this.#lastRead = digestOf(this.#pair);
    this.#check(this.#pair);
    this.#timer = dependencies.clock.every(reloadIntervalMs, () => this.reload());
  }

  get pair(): KeyPair {
    return this.#pair;
  }

  /** When the served certificate expires, in ms since 1970. */
  get expiresAt(): number {
    return Date.parse(this.#validTo);
  }

  /** From two weeks before the expiry on. */
  warning(): string | undefined {
    const leftMs = this.expiresAt - this.#dependencies.clock.now();
    if (leftMs >= expiryWarningMs) return undefined;
    const verb = leftMs <= 0 ? "has expired: it was" : "expires soon: it is";
    return `the TLS certificate ${verb} valid until ${new Date(this.expiresAt).toISOString()}`;
  }

  /** Calls `use` with every new pair. Open connections keep the one they began with. */
  serve(use: (pair: KeyPair) => void): void {
    this.#servers.add(use);
  }

  /** Reads the files; returns whether the served certificate changed. */
  reload(): boolean {
    const { read, pair, why } = this.#readFiles();
    this.#warnBeforeExpiry();
    if (read === this.#lastRead) return false;
    this.#lastRead = read;
    if (pair === undefined) {
      this.#dependencies.events.certificate("refused", why);
      return false;
    }
    this.#pair = pair;
    for (const use of this.#servers) use(pair);
    this.#dependencies.events.certificate("renewed", this.#files.cert);
    return true;
  }

  stop(): void {
    this.#timer.cancel();
  }

  #readFiles(): { readonly read: string; readonly pair?: KeyPair; readonly why: string } {
    let read: string | undefined;
    try {
      const pair = readPair(this.#files);
      read = digestOf(pair);
      if (read !== this.#lastRead) this.#check(pair);
      return { read, pair, why: "" };
    } catch (error) {
      const why = messageOf(error);
      return { read: read ?? why, why };
    }
  }

  #check(pair: KeyPair): void {
    this.#validTo = checkPair(pair, this.#files, this.#dependencies.clock.now());
    this.#warnBeforeExpiry();
  }

  /** Logs it once a day, from two weeks before the expiry on, and at the expiry. */
  #warnBeforeExpiry(): void {
    const { clock, events } = this.#dependencies;
    const now = clock.now();
    const leftMs = this.expiresAt - now;
    const expired = leftMs <= 0;
    if (leftMs >= expiryWarningMs || (now - this.#warnedAt < dayMs && expired === this.#warnedExpired))
      return;
    this.#warnedAt = now;
    this.#warnedExpired = expired;
    const until = `${this.#files.cert} ${expired ? "was" : "is"} valid until ${this.#validTo}`;
    events.certificate(expired ? "expired" : "ends soon", until);
  }
}

/** Returns the expiry date; throws a StartError that names the wrong file and the reason. */
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
    throw new StartError(`tls.key (${file}) has a passphrase. The gateway needs a key without one.`);
  }
  try {
    return createPrivateKey(bytes);
  } catch {
    // OpenSSL's message is about its decoders and does not help the operator.
    throw new StartError(`tls.key (${file}) is not a private key in PEM.`);
  }
}

function digestOf({ cert, key }: KeyPair): string {
  return hash("sha256", Buffer.concat([cert, Buffer.alloc(1), key]));
}

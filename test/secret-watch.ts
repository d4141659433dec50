/**
 * Watches every test for leaked secrets. It records what is sent or received as a secret. No log line, event, metric or
 * REST answer may contain it, except the answer that issues it.
 * `watches-setup.ts` compares them after each test.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { Writable } from "node:stream";
import { type Logger, pino } from "pino";

/** Shorter ones would match by chance, or are not secrets. */
const shortest = 10;
/** Compared in chunks of this size, because a test may write a lot. */
const mostCharacters = 4_000_000;
/** The names of fields that contain secrets. */
const secretFields =
  /"(token|password|key|challenge|hmac|apiKey|client_id|clientId|hmacKey)"\s*:\s*"([^"\\]+)"/g;
/** Answers that issue a secret to its owner. */
const handsOut = [
  /^\w+ \/xiaozhi\//,
  /^POST \/api\/v1\/tokens$/,
  /^POST \/api\/v1\/devices\/provision$/,
  /^POST \/api\/v1\/session/,
];

interface Shown {
  readonly where: string;
  readonly text: string;
}

class SecretWatch {
  /** The kind of each secret. */
  readonly #secrets = new Map<string, string>();
  readonly #leaks = new Set<string>();
  #shown: Shown[] = [];
  #characters = 0;
  #compared = 0;

  /** How much was checked for how many secrets, to detect a watch that sees nothing. */
  get seen(): { readonly texts: number; readonly secrets: number } {
    return { texts: this.#compared + this.#shown.length, secrets: this.#secrets.size };
  }

  /** Forgets the secrets when another test file starts. */
  startOver(): void {
    this.#secrets.clear();
    this.#leaks.clear();
    this.#shown = [];
    this.#characters = 0;
    this.#compared = 0;
  }

  keep(secret: string | undefined, what: string): void {
    if (secret !== undefined && secret.length >= shortest) this.#secrets.set(secret, what);
  }

  /** Records every secret in data that only its reader may have. */
  learn(text: string, from: string): void {
    for (const [, field = "", value] of text.matchAll(secretFields)) this.keep(value, `${field} (${from})`);
  }

  show(text: string, where: string): void {
    this.#shown.push({ where, text });
    this.#characters += text.length;
    if (this.#characters > mostCharacters) this.#compare();
  }

  asked(method: string, path: string, headers: OutgoingHttpHeaders, body: unknown): void {
    const { authorization, "client-id": clientId, cookie } = lowerCase(headers);
    this.keep(/^Bearer\s+(\S+)$/i.exec(authorization ?? "")?.[1], "a bearer token");
    this.keep(clientId, "a Client-Id");
    this.keep(/=([^;]+)/.exec(cookie ?? "")?.[1], "a cookie");
    if (typeof body === "string" && /provision|import|activate/.test(path))
      this.learn(body, `${method} ${path}`);
  }

  answered(method: string, path: string, status: number, headers: IncomingHttpHeaders, text: string): void {
    const where = `${method} ${path} answered ${status}`;
    const asked = `${method} ${path.split("?")[0]}`;
    const { "set-cookie": cookies, ...rest } = headers;
    for (const cookie of cookies ?? []) this.keep(/=([^;]+)/.exec(cookie)?.[1], "a cookie");
    if (status < 400 && handsOut.some((pattern) => pattern.test(asked))) {
      this.learn(text, where);
      return;
    }
    this.show(`${JSON.stringify(rest)}\n${text}`, where);
  }

  logger(): Logger {
    const stream = new Writable({
      decodeStrings: false,
      write: (line: string, _encoding, done) => {
        this.show(line, "a log line");
        done();
      },
    });
    return pino({ level: "trace" }, stream);
  }

  /** The leaks since the last check. */
  leaks(): string[] {
    this.#compare();
    const found = [...this.#leaks];
    this.#leaks.clear();
    return found;
  }

  #compare(): void {
    const all = this.#shown.map(({ text }) => text).join("\n");
    for (const [secret, what] of this.#secrets) {
      if (!all.includes(secret)) continue;
      for (const { where, text } of this.#shown) {
        const at = text.indexOf(secret);
        if (at !== -1) this.#leaks.add(`${what} in ${where}: …${text.slice(Math.max(0, at - 80), at)}<here>`);
      }
    }
    this.#compared += this.#shown.length;
    this.#shown = [];
    this.#characters = 0;
  }
}

export const secretWatch = new SecretWatch();

function lowerCase(headers: OutgoingHttpHeaders): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      value === undefined ? undefined : String(value),
    ]),
  );
}

/**
 * Looks over the shoulder of every test: what is sent or received as a secret is remembered, and nothing that people
 * or programs are shown may have it: no log line, no event, no metric, no answer of REST but the one that hands it out.
 * `secret-watch-setup.ts` compares them after each test.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { Writable } from "node:stream";
import { type Logger, pino } from "pino";

/** Shorter ones are found by chance, or are no secrets. */
const shortest = 10;
/** Compared before there is more: a test may say a great deal. */
const mostCharacters = 4_000_000;
/** As they are called on the way to a device, or to whoever asked for a token. */
const secretFields =
  /"(token|password|key|challenge|hmac|apiKey|client_id|clientId|hmacKey)"\s*:\s*"([^"\\]+)"/g;
/** Answers that hand a secret to whom it belongs. */
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
  /** What each is. */
  readonly #secrets = new Map<string, string>();
  readonly #leaks = new Set<string>();
  #shown: Shown[] = [];
  #characters = 0;
  #compared = 0;

  /** How much was looked at, and for how many secrets: a watch that sees nothing finds nothing. */
  get seen(): { readonly texts: number; readonly secrets: number } {
    return { texts: this.#compared + this.#shown.length, secrets: this.#secrets.size };
  }

  /** Another file of tests begins: what was secret to the one before is nothing to it. */
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

  /** Every secret in something that only its reader may have. */
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

  /** What was shown and should not have been, since the last time somebody asked. */
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

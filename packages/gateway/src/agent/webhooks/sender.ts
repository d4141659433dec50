/**
 * One POST to a receiver. Only the status of the reply counts. Redirects are failures. Time and size of the reply are
 * bounded, whatever length it claims.
 */
import http from "node:http";
import https from "node:https";
import { webhookLimits } from "@tendon/protocol";
import { lookupOf, type ResolvedAddress } from "../../checked-addresses.ts";
import type { Clock, Timer } from "../../clock.ts";
import { version } from "../../version.ts";
import { TargetRefused, type Targets } from "./targets.ts";

export interface SendResult {
  readonly ok: boolean;
  readonly status: number | undefined;
  readonly error: string | undefined;
  /** The receiver asks to wait for this time. */
  readonly retryAfterMs: number | undefined;
  readonly durationMs: number;
}

export interface SenderDependencies {
  readonly clock: Clock;
  readonly targets: Targets;
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** The rest of the reply has this time after its status. */
const restMs = 1_000;
const idleMs = 20_000;
const longestRetryAfterMs = 24 * 60 * 60_000;

/** The result of a message that was not sent. */
export const noSecret: SendResult = {
  ok: false,
  status: undefined,
  error: "the secret cannot be decrypted, because the gateway's own secret has changed; make a new one",
  retryAfterMs: undefined,
  durationMs: 0,
};

export class Sender {
  readonly #dependencies: SenderDependencies;
  readonly #plain = new http.Agent({ keepAlive: true, timeout: idleMs });
  readonly #secure = new https.Agent({ keepAlive: true, timeout: idleMs });

  constructor(dependencies: SenderDependencies) {
    this.#dependencies = dependencies;
  }

  /** Never rejects. `undefined` if the caller aborted it. */
  async send(
    address: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<SendResult | undefined> {
    const { clock } = this.#dependencies;
    const startedAt = clock.monotonic();
    const late = new AbortController();
    const timer = clock.after(webhookLimits.answerMs.max, () => late.abort());
    const either = AbortSignal.any([late.signal, signal]);
    const result = (rest: Partial<SendResult>): SendResult => ({
      ok: false,
      status: undefined,
      error: undefined,
      retryAfterMs: undefined,
      durationMs: Math.round(clock.monotonic() - startedAt),
      ...rest,
    });
    try {
      const { status, retryAfter } = await this.#post(new URL(address), headers, body, either);
      if (status >= 200 && status < 300) return result({ ok: true, status });
      const error = status >= 300 && status < 400 ? "redirects are not followed" : `HTTP status ${status}`;
      return result({ status, error, retryAfterMs: readRetryAfter(retryAfter, clock.now()) });
    } catch (error) {
      if (signal.aborted) return undefined;
      if (late.signal.aborted)
        return result({ error: `no answer within ${webhookLimits.answerMs.max / 1_000} s` });
      return result({ error: reasonOf(error) });
    } finally {
      timer.cancel();
    }
  }

  stop(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  async #post(
    url: URL,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<Answer> {
    const addresses = await abortable(this.#dependencies.targets.resolve(url), signal);
    try {
      return await this.#request(url, addresses, headers, body, signal, true);
    } catch (error) {
      // The receiver closed an idle connection at the moment of its reuse. Nothing was processed.
      if (!(error instanceof StaleConnection) || signal.aborted) throw error;
      return await this.#request(url, addresses, headers, body, signal, false);
    }
  }

  #request(
    url: URL,
    addresses: readonly ResolvedAddress[],
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
    reuse: boolean,
  ): Promise<Answer> {
    const secure = url.protocol === "https:";
    const pooled = secure ? this.#secure : this.#plain;
    return new Promise((resolve, reject) => {
      const request = (secure ? https : http).request(url, {
        method: "POST",
        agent: reuse ? pooled : false,
        lookup: lookupOf(addresses),
        signal,
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
          "user-agent": `Tendon/${version}`,
          ...headers,
        },
      });
      request.on("error", (error: NodeJS.ErrnoException) => {
        const stale = request.reusedSocket && ["ECONNRESET", "EPIPE"].includes(error.code ?? "");
        reject(stale ? new StaleConnection("closed", { cause: error }) : error);
      });
      request.on("response", (response) => {
        const answer = {
          status: response.statusCode ?? 0,
          retryAfter: response.headers["retry-after"],
        };
        void this.#readRest(response).then(() => resolve(answer));
      });
      request.end(body);
    });
  }

  /** Resolves at the end of the reply, or when it is too long or too slow; then the connection closes. */
  #readRest(response: http.IncomingMessage): Promise<void> {
    return new Promise((resolve) => {
      let bytes = 0;
      const cut = () => response.destroy();
      const timer: Timer = this.#dependencies.clock.after(restMs, cut);
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.byteLength;
        if (bytes > webhookLimits.answerBytes.max) cut();
      });
      // A reply that breaks off has a status all the same.
      response.on("error", () => undefined);
      response.on("close", () => {
        timer.cancel();
        resolve();
      });
    });
  }
}

class StaleConnection extends Error {
  override readonly name = "StaleConnection";
}

async function abortable<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return await new Promise((resolve, reject) => {
    const onAbort = () => reject(new TargetRefused("the name was not resolved in time"));
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Without the address, which may have a secret in its path. */
function reasonOf(error: unknown): string {
  if (error instanceof TargetRefused) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === "string") return code;
  return error instanceof Error ? error.name : "the request failed";
}

/** Seconds or a date, at most a day. */
function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), longestRetryAfterMs) : undefined;
}

/**
 * Refuses requests that the gateway cannot serve in time, before they cost more than their header. Requests that arrive
 * together are served in one turn of the event loop, and the last of them waits for all others. Once turns have been
 * long for longer than a burst, a turn begins requests only for a while and refuses the others. Refusals are sent at the
 * end of the turn: otherwise their callers would ask again within it, and it would not end.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { Batch } from "../../batch.ts";
import { TendonError } from "../../errors.ts";
import { problemOf } from "../../problem-document.ts";

/** With fewer requests in a turn, it is not the requests that make it long. */
const crowd = 32;
/** A turn as long as this makes others wait noticeably. */
const longTurnMs = 40;
/** Shorter bursts are served, however large. */
const burstMs = 150;
/** Some 100 requests. With their answers and the refusals, a turn then takes some 50 ms at twice the possible rate. */
const turnBudgetMs = 10;
/** A turn that takes longer begins requests again after so long: refusing alone would leave nobody served. */
const roundMs = 3 * turnBudgetMs;
/** A loop that waited for work as long as this has caught up. */
const restMs = 10;
const retryAfterMs = 1_000;
const reportEveryMs = 1_000;

export interface LoopTimes {
  /** Milliseconds. */
  now(): number;
  /** How long the event loop has waited for work since it began. */
  idle(): number;
  /** The CPU time of this process. A machine that is busy with other things is not an overload. */
  cpu(): number;
  atTurnEnd(run: () => void): void;
}

const ownLoop: LoopTimes = {
  now: () => performance.now(),
  idle: () => performance.eventLoopUtilization().idle,
  cpu: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
  atTurnEnd: (run) => void setImmediate(run),
};

/** Whether a turn may begin one more request. */
export class OverloadGate {
  readonly #loop: LoopTimes;
  #turnBegan: number | undefined;
  #turnRequests = 0;
  /** The CPU time when the turn became a crowd. */
  #crowdedAt = 0;
  #turnIsLong = false;
  #turnRefuses = false;
  /** Set while every turn is long, and then until the loop rests: since when, and how long it had rested before. */
  #strain: { readonly since: number; readonly idle: number } | undefined;
  #isOverloaded = false;

  constructor(loop = ownLoop) {
    this.#loop = loop;
  }

  admits(): boolean {
    const now = this.#loop.now();
    if (this.#turnBegan === undefined) this.#begin(now);
    this.#turnRequests += 1;
    if (this.#turnRequests < crowd) return true;
    if (this.#turnRequests === crowd) this.#crowdedAt = this.#loop.cpu();
    const spent = now - (this.#turnBegan ?? now);
    if (spent >= longTurnMs && this.#loop.cpu() - this.#crowdedAt >= longTurnMs) this.#noteLongTurn(now);
    if (!this.#isOverloaded || spent % roundMs < turnBudgetMs) return true;
    this.#turnRefuses = true;
    return false;
  }

  #noteLongTurn(now: number): void {
    this.#turnIsLong = true;
    this.#strain ??= { since: this.#turnBegan ?? now, idle: this.#loop.idle() };
    if (now - this.#strain.since >= burstMs) this.#isOverloaded = true;
  }

  #begin(now: number): void {
    if (this.#strain !== undefined && this.#loop.idle() - this.#strain.idle >= restMs) this.#calm();
    this.#turnBegan = now;
    this.#turnRequests = 0;
    this.#turnIsLong = false;
    this.#turnRefuses = false;
    this.#loop.atTurnEnd(() => {
      if (this.#turnRefuses) this.#strain = { since: now, idle: this.#loop.idle() };
      else if (!this.#isOverloaded && !this.#turnIsLong) this.#calm();
      this.#turnBegan = undefined;
    });
  }

  #calm(): void {
    this.#strain = undefined;
    this.#isOverloaded = false;
  }
}

export interface OverloadOptions {
  /** Paths that are never refused. */
  readonly exempt: readonly string[];
  /** Called for each refused request. `from` is its address, at most once a second: a flood must not fill the log. */
  readonly onRefused: (from: string | undefined) => void;
}

/** Puts the gate before the server's only request listener. */
export function refuseExcess(server: Server, { exempt, onRefused }: OverloadOptions): void {
  const [listener] = server.listeners("request") as RequestListener[];
  if (listener === undefined) throw new TypeError("the server has no listener for requests");
  const handle = listener.bind(server);
  const gate = new OverloadGate();
  const refused = new Batch(refuse, Number.POSITIVE_INFINITY);
  let reportedAt = Number.NEGATIVE_INFINITY;
  server.removeAllListeners("request");
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (gate.admits() || exempt.some((prefix) => request.url?.startsWith(prefix) === true)) {
      handle(request, response);
      return;
    }
    refused.add(response);
    const now = performance.now();
    const isReported = now - reportedAt >= reportEveryMs;
    if (isReported) reportedAt = now;
    onRefused(isReported ? request.socket.remoteAddress : undefined);
  });
}

function refuse(response: ServerResponse): void {
  response.writeHead(refusal.status, refusal.headers).end(refusal.body);
}

/** Made once: refusing must cost little. */
const refusal = describeRefusal();

function describeRefusal() {
  const problem = problemOf(
    new TendonError("busy", "the gateway has more requests than it can serve; retry later", { retryAfterMs }),
  );
  const body = JSON.stringify(problem);
  const headers = {
    "content-type": "application/problem+json",
    "content-length": Buffer.byteLength(body),
    "retry-after": String(retryAfterMs / 1_000),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  };
  return { status: problem.status, headers, body };
}

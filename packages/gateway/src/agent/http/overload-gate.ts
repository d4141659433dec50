/**
 * Refuses requests that the gateway cannot serve in time, before they cost more than their header. Requests that arrive
 * together are served in one turn of the event loop, and the last of them waits for all others. Once turns have been
 * long for longer than a burst, a turn begins requests only for a while and refuses the others. Refusals are sent at the
 * end of the turn: otherwise their callers would ask again within it, and it would not end.
 */
import type { Server } from "node:http";
import { Batch } from "../../batch.ts";
import type { Clock } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import { problemAnswer } from "../../problem-document.ts";
import { onePerSecond, type Response, standBefore } from "./request-listener.ts";

/** With fewer requests in a turn, it is not the requests that make it long. */
const crowd = 32;
/** A turn as long as this makes others wait noticeably. */
const longTurnMs = 40;
/** Shorter bursts are served, however large. */
const burstMs = 150;
/** Some 100 requests. With their answers and the refusals, a turn then takes some 50 ms at twice the possible rate. */
const turnBudgetMs = 10;
/** A turn that takes longer begins requests again after so long: refusing alone would serve no client. */
const roundMs = 3 * turnBudgetMs;
/** A loop that waited for work as long as this has caught up. */
const restMs = 10;
const retryAfterMs = 1_000;

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

interface Turn {
  readonly began: number;
  requests: number;
  /** The CPU time when it became a crowd. */
  crowdedAt: number;
  isLong: boolean;
  refuses: boolean;
}

/** Whether a turn may begin one more request. */
export class OverloadGate {
  readonly #loop: LoopTimes;
  #turn: Turn | undefined;
  /** Set while every turn is long, and then until the loop rests: since when, and how long it had rested before. */
  #strain: { readonly since: number; readonly idle: number } | undefined;
  #isOverloaded = false;

  constructor(loop = ownLoop) {
    this.#loop = loop;
  }

  admits(): boolean {
    const now = this.#loop.now();
    this.#turn ??= this.#begin(now);
    const turn = this.#turn;
    turn.requests += 1;
    if (turn.requests < crowd) return true;
    if (turn.requests === crowd) turn.crowdedAt = this.#loop.cpu();
    const spent = now - turn.began;
    if (spent >= longTurnMs && this.#loop.cpu() - turn.crowdedAt >= longTurnMs) this.#noteLong(turn, now);
    if (!this.#isOverloaded || spent % roundMs < turnBudgetMs) return true;
    turn.refuses = true;
    return false;
  }

  #noteLong(turn: Turn, now: number): void {
    turn.isLong = true;
    this.#strain ??= { since: turn.began, idle: this.#loop.idle() };
    if (now - this.#strain.since >= burstMs) this.#isOverloaded = true;
  }

  #begin(now: number): Turn {
    if (this.#strain !== undefined && this.#loop.idle() - this.#strain.idle >= restMs) this.#calm();
    this.#loop.atTurnEnd(() => this.#end());
    return { began: now, requests: 0, crowdedAt: 0, isLong: false, refuses: false };
  }

  #end(): void {
    const turn = this.#turn;
    this.#turn = undefined;
    if (turn?.refuses === true) this.#strain = { since: turn.began, idle: this.#loop.idle() };
    else if (!this.#isOverloaded && turn?.isLong !== true) this.#calm();
  }

  #calm(): void {
    this.#strain = undefined;
    this.#isOverloaded = false;
  }
}

export interface OverloadOptions {
  readonly clock: Clock;
  /** Paths that are never refused. */
  readonly exempt: readonly string[];
  /** Called for each refused request. `from` is its address, at most once a second: a flood must not fill the log. */
  readonly onRefused: (from: string | undefined) => void;
}

export function refuseExcess(server: Server, { clock, exempt, onRefused }: OverloadOptions): void {
  const gate = new OverloadGate();
  const refused = new Batch(refuse, Number.POSITIVE_INFINITY);
  const isLogged = onePerSecond(clock);
  standBefore(server, (next) => (request, response) => {
    if (gate.admits() || exempt.some((prefix) => request.url?.startsWith(prefix) === true)) {
      next(request, response);
      return;
    }
    refused.add(response);
    onRefused(isLogged() ? request.socket.remoteAddress : undefined);
  });
}

function refuse(response: Response): void {
  response.writeHead(refusal.status, refusal.headers).end(refusal.body);
}

/** Made once: refusing must cost little. */
const refusal = describeRefusal();

function describeRefusal() {
  const error = new TendonError("busy", "the gateway has more requests than it can serve; retry later", {
    retryAfterMs,
  });
  const { headers, ...answer } = problemAnswer(error);
  const more = {
    "retry-after": String(retryAfterMs / 1_000),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  };
  return { ...answer, headers: { ...headers, ...more } };
}

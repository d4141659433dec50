/**
 * How the gateway has been doing: a small series in memory, made of the same events as everything else. Fine steps for
 * the last hour, coarse ones for the last day; both are rings, so that it never grows. Calls from before the start are
 * read from the history, once, at the first view.
 */
import type { GatewayEvent, OverviewRange, OverviewView } from "@tendon/protocol";
import { type Clock, isoTime } from "../../clock.ts";
import type { Events } from "../../events/events.ts";
import { bucketOf, Histogram } from "./histogram.ts";

interface Step {
  readonly from: number;
  /** Not known of earlier runs. */
  online: number | null;
  calls: number;
  readonly failures: Map<string, number>;
  readonly times: Histogram;
}

interface Scale {
  readonly stepMs: number;
  readonly steps: number;
}

const scales = {
  "15m": { stepMs: 10_000, steps: 90 },
  "1h": { stepMs: 10_000, steps: 360 },
  "24h": { stepMs: 300_000, steps: 288 },
} as const satisfies Record<OverviewRange, Scale>;

/** Tools are told apart as long as there are not more of them; the rest counts together. */
const mostTools = 200;
const slowestShown = 8;

interface EndedCall {
  readonly at: number;
  readonly tool: string;
  readonly outcome: string;
  readonly durationMs: number;
}

export interface OverviewNeeds {
  readonly clock: Clock;
  /** Gives the calls of a span, the newest first; resolves with the time from which on they are complete. */
  readonly callHistory: (
    span: { readonly since: number; readonly before: number },
    take: (call: EndedCall) => void,
  ) => Promise<number>;
  readonly events: Pick<Events, "subscribe" | "settle">;
  /** Programs are started before anybody counts. */
  readonly onlineAlready: number;
}

export class Overview {
  readonly #needs: OverviewNeeds;
  readonly #fine: Step[] = [];
  readonly #coarse: Step[] = [];
  readonly #tools = new Map<string, { readonly times: Histogram; failed: number }>();
  #online = 0;
  /** From here on every call is counted. */
  #since: number;
  #recalled: Promise<void> | undefined;
  readonly #unsubscribe: () => void;

  constructor(needs: OverviewNeeds) {
    this.#needs = needs;
    this.#since = needs.clock.now();
    this.#online = needs.onlineAlready;
    this.#countOnline();
    this.#unsubscribe = needs.events.subscribe((event) => this.#take(event));
  }

  stop(): void {
    this.#unsubscribe();
  }

  async view(range: OverviewRange): Promise<OverviewView> {
    this.#recalled ??= this.#recall();
    await this.#recalled;
    this.#needs.events.settle();
    const { stepMs, steps } = scales[range];
    const now = this.#needs.clock.now();
    const from = Math.floor(now / stepMs) * stepMs - (steps - 1) * stepMs;
    const kept = (stepMs === scales["24h"].stepMs ? this.#coarse : this.#fine).filter(
      (step) => step.from >= from,
    );
    const all = new Histogram();
    const failures = new Map<string, number>();
    for (const step of kept) {
      all.merge(step.times);
      for (const [reason, count] of step.failures) failures.set(reason, (failures.get(reason) ?? 0) + count);
    }
    const calls = kept.reduce((sum, step) => sum + step.calls, 0);
    return {
      range,
      from: isoTime(from),
      since: isoTime(Math.max(from, this.#since)),
      stepMs,
      online: this.#online,
      calls,
      failed: [...failures.values()].reduce((sum, count) => sum + count, 0),
      p50: all.percentile(0.5),
      p95: all.percentile(0.95),
      p99: all.percentile(0.99),
      points: kept.map((step) => ({
        at: isoTime(step.from),
        online: step.online,
        calls: step.calls,
        failed: [...step.failures.values()].reduce((sum, count) => sum + count, 0),
        p50: step.times.percentile(0.5),
        p95: step.times.percentile(0.95),
      })),
      failures: [...failures].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count),
      slowest: this.#slowest(),
    };
  }

  #slowest(): OverviewView["slowest"] {
    return [...this.#tools]
      .map(([tool, { times, failed }]) => ({
        tool,
        calls: times.total,
        failed,
        p95: times.percentile(0.95) ?? 0,
      }))
      .sort((a, b) => b.p95 - a.p95)
      .slice(0, slowestShown);
  }

  /** The rings go back a day; what is older needs no reading. */
  async #recall(): Promise<void> {
    const now = this.#needs.clock.now();
    const [fineFrom, coarseFrom] = [scales["1h"], scales["24h"]].map(
      ({ stepMs, steps }) => Math.floor(now / stepMs) * stepMs - (steps - 1) * stepMs,
    ) as [number, number];
    if (coarseFrom >= this.#since) return;
    const span = { since: coarseFrom, before: this.#since };
    try {
      this.#since = await this.#needs.callHistory(span, ({ at, tool, outcome, durationMs }) => {
        const counted = countedAs(outcome, durationMs);
        this.#since = at;
        if (at >= fineFrom) countCall(earlierStep(this.#fine, scales["1h"], at), counted);
        countCall(earlierStep(this.#coarse, scales["24h"], at), counted);
        this.#countTool(tool, counted);
      });
    } catch {
      // The storage is away, which is reported elsewhere: `since` says how far this got, and the next view goes on there.
      this.#recalled = undefined;
    }
  }

  #take(event: GatewayEvent): void {
    if (event.type === "device.online" || event.type === "device.offline") {
      // Every coming has its going, so that counting them is enough.
      this.#online += event.type === "device.online" ? 1 : -1;
      this.#countOnline();
    } else if (event.type === "call.finished") {
      const { outcome, durationMs, tool } = event.data;
      const now = this.#needs.clock.now();
      const counted = countedAs(String(outcome), Number(durationMs));
      countCall(this.#current(this.#fine, scales["1h"], now), counted);
      countCall(this.#current(this.#coarse, scales["24h"], now), counted);
      this.#countTool(String(tool), counted);
    }
  }

  #countOnline(): void {
    const now = this.#needs.clock.now();
    this.#current(this.#fine, scales["1h"], now).online = this.#online;
    this.#current(this.#coarse, scales["24h"], now).online = this.#online;
  }

  #current(series: Step[], { stepMs, steps }: Scale, now: number): Step {
    const last = series.at(-1);
    // A clock that was set back must not make steps out of order.
    if (last !== undefined && now < last.from + stepMs) return last;
    const from = Math.floor(now / stepMs) * stepMs;
    const step = emptyStep(from, this.#online);
    series.push(step);
    if (series.length > steps) series.shift();
    return step;
  }

  #countTool(tool: string, { bucket, failure }: Counted): void {
    const name = this.#tools.has(tool) || this.#tools.size < mostTools ? tool : "…";
    const known = this.#tools.get(name) ?? { times: new Histogram(), failed: 0 };
    known.times.addTo(bucket);
    if (failure !== undefined) known.failed += 1;
    this.#tools.set(name, known);
  }
}

interface Counted {
  readonly bucket: number;
  readonly failure: string | undefined;
}

/** A call that waits for a person has not failed. */
function countedAs(outcome: string, durationMs: number): Counted {
  const failed = outcome !== "ok" && outcome !== "approval_required";
  return { bucket: bucketOf(durationMs), failure: failed ? outcome : undefined };
}

function emptyStep(from: number, online: number | null): Step {
  return { from, online, calls: 0, failures: new Map(), times: new Histogram() };
}

/** The step of a call that is older than all that were counted before it. */
function earlierStep(series: Step[], { stepMs }: Scale, at: number): Step {
  const from = Math.floor(at / stepMs) * stepMs;
  const [first] = series;
  if (first !== undefined && from >= first.from) return first;
  const step = emptyStep(from, null);
  series.unshift(step);
  return step;
}

function countCall(step: Step, { bucket, failure }: Counted): void {
  step.calls += 1;
  step.times.addTo(bucket);
  if (failure !== undefined) step.failures.set(failure, (step.failures.get(failure) ?? 0) + 1);
}

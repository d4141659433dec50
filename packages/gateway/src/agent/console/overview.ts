/**
 * Time series of online devices and calls, in memory, from the gateway's events. Fine steps cover the last hour, coarse
 * ones the last day; both are bounded. Calls before the start are read from the history once, at the first view.
 */
import { automaticPrefix, type GatewayEvent, type OverviewRange, type OverviewView } from "@tendon/protocol";
import { type Clock, isoTime } from "../../clock.ts";
import type { Events } from "../../events/events.ts";
import { bucketOf, Histogram } from "./histogram.ts";

interface Step {
  readonly from: number;
  /** `null` for earlier runs. */
  online: number | null;
  calls: number;
  readonly failures: Map<string, number>;
  readonly times: Histogram;
  /** By tool; only in coarse steps. */
  readonly tools: Map<string, ToolTimes>;
}

interface ToolTimes {
  readonly times: Histogram;
  failed: number;
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

/** Further tools of a step are counted together under one name. */
const maxTools = 50;
const slowestShown = 8;

interface EndedCall {
  readonly at: number;
  readonly tool: string;
  readonly principal: string;
  readonly outcome: string;
  readonly durationMs: number;
}

export interface OverviewDependencies {
  readonly clock: Clock;
  /** Passes the calls of a span to `take`, the newest first; resolves with the time from which they are complete. */
  readonly callHistory: (
    span: { readonly since: number; readonly before: number },
    take: (call: EndedCall) => void,
  ) => Promise<number>;
  readonly events: Pick<Events, "subscribe" | "settle">;
  /** Devices that connected before the overview subscribed to events, such as MCP programs. */
  readonly onlineAlready: number;
}

export class Overview {
  readonly #dependencies: OverviewDependencies;
  readonly #fine: Step[] = [];
  readonly #coarse: Step[] = [];
  #online = 0;
  /** Every call since this time is counted. */
  #since: number;
  #loadedHistory: Promise<void> | undefined;
  readonly #unsubscribe: () => void;

  constructor(dependencies: OverviewDependencies) {
    this.#dependencies = dependencies;
    this.#since = dependencies.clock.now();
    this.#online = dependencies.onlineAlready;
    this.#countOnline();
    this.#unsubscribe = dependencies.events.subscribe((event) => this.#count(event));
  }

  stop(): void {
    this.#unsubscribe();
  }

  async view(range: OverviewRange): Promise<OverviewView> {
    this.#loadedHistory ??= this.#loadHistory();
    await this.#loadedHistory;
    this.#dependencies.events.settle();
    const { stepMs, steps } = scales[range];
    const now = this.#dependencies.clock.now();
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
      slowest: this.#slowest(from),
    };
  }

  /** From the coarse steps, so the first step may begin up to five minutes before the range. */
  #slowest(from: number): OverviewView["slowest"] {
    const all = new Map<string, ToolTimes>();
    for (const step of this.#coarse) {
      if (step.from + scales["24h"].stepMs <= from) continue;
      for (const [tool, { times, failed }] of step.tools) {
        const known = all.get(tool) ?? { times: new Histogram(), failed: 0 };
        known.times.merge(times);
        known.failed += failed;
        all.set(tool, known);
      }
    }
    return [...all]
      .map(([tool, { times, failed }]) => ({
        tool,
        calls: times.total,
        failed,
        p95: times.percentile(0.95) ?? 0,
      }))
      .sort((a, b) => b.p95 - a.p95)
      .slice(0, slowestShown);
  }

  /** Reads the calls of the last day that were made before the start. */
  async #loadHistory(): Promise<void> {
    const now = this.#dependencies.clock.now();
    const [fineFrom, coarseFrom] = [scales["1h"], scales["24h"]].map(
      ({ stepMs, steps }) => Math.floor(now / stepMs) * stepMs - (steps - 1) * stepMs,
    ) as [number, number];
    if (coarseFrom >= this.#since) return;
    const span = { since: coarseFrom, before: this.#since };
    try {
      this.#since = await this.#dependencies.callHistory(
        span,
        ({ at, tool, principal, outcome, durationMs }) => {
          this.#since = at;
          if (isAutomatic(principal)) return;
          const counted = countedAs(outcome, durationMs);
          if (at >= fineFrom) countCall(earlierStep(this.#fine, scales["1h"], at), counted);
          const coarse = earlierStep(this.#coarse, scales["24h"], at);
          countCall(coarse, counted);
          countTool(coarse, tool, counted);
        },
      );
    } catch {
      // The storage is unavailable, which the store reports. The next view continues from `since`.
      this.#loadedHistory = undefined;
    }
  }

  #count(event: GatewayEvent): void {
    if (event.type === "device.online" || event.type === "device.offline") {
      // Every `device.online` is followed by one `device.offline`, so counting is enough.
      this.#online += event.type === "device.online" ? 1 : -1;
      this.#countOnline();
    } else if (event.type === "call.finished") {
      const { outcome, durationMs, tool, principal } = event.data;
      if (isAutomatic(String(principal))) return;
      const now = this.#dependencies.clock.now();
      const counted = countedAs(String(outcome), Number(durationMs));
      countCall(this.#current(this.#fine, scales["1h"], now), counted);
      const coarse = this.#current(this.#coarse, scales["24h"], now);
      countCall(coarse, counted);
      countTool(coarse, String(tool), counted);
    }
  }

  #countOnline(): void {
    const now = this.#dependencies.clock.now();
    this.#current(this.#fine, scales["1h"], now).online = this.#online;
    this.#current(this.#coarse, scales["24h"], now).online = this.#online;
  }

  #current(series: Step[], { stepMs, steps }: Scale, now: number): Step {
    const last = series.at(-1);
    // If the clock was set back, steps must stay in order.
    if (last !== undefined && now < last.from + stepMs) return last;
    const from = Math.floor(now / stepMs) * stepMs;
    const step = emptyStep(from, this.#online);
    series.push(step);
    if (series.length > steps) series.shift();
    return step;
  }
}

interface Counted {
  readonly bucket: number;
  readonly failure: string | undefined;
}

/** The status reads of open console pages. Opening the console does not change the statistics. */
function isAutomatic(principal: string): boolean {
  return principal.startsWith(automaticPrefix);
}

/** A call that waits for a person has not failed. */
function countedAs(outcome: string, durationMs: number): Counted {
  const failed = outcome !== "ok" && outcome !== "approval_required";
  return { bucket: bucketOf(durationMs), failure: failed ? outcome : undefined };
}

function emptyStep(from: number, online: number | null): Step {
  return { from, online, calls: 0, failures: new Map(), times: new Histogram(), tools: new Map() };
}

/** The step for a call that is older than all calls counted so far. */
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

function countTool({ tools }: Step, tool: string, { bucket, failure }: Counted): void {
  const name = tools.has(tool) || tools.size < maxTools ? tool : "…";
  const known = tools.get(name) ?? { times: new Histogram(), failed: 0 };
  known.times.addTo(bucket);
  if (failure !== undefined) known.failed += 1;
  tools.set(name, known);
}

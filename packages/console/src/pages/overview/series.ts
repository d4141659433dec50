/** The gateway returns only the time steps with activity; a chart needs every step. */
import type { OverviewView } from "@tendon/protocol";

export interface Series {
  /** Seconds since 1970. */
  readonly x: number[];
  readonly online: (number | null)[];
  readonly calls: number[];
  readonly failed: number[];
  readonly p50: (number | null)[];
  readonly p95: (number | null)[];
}

/** Empty steps before the first known one. */
const lead = 1;

export function seriesOf({ from, stepMs, points, online }: OverviewView, now: number): Series {
  const byTime = new Map(points.map((point) => [Date.parse(point.at), point]));
  const series: Series = { x: [], online: [], calls: [], failed: [], p50: [], p95: [] };
  // Before the gateway started there is no data, which differs from zero.
  const begun = Math.min(...byTime.keys()) - lead * stepMs;
  const first = Number.isFinite(begun) ? Math.max(Date.parse(from), begun) : Date.parse(from);
  let count: number | null = null;
  for (let at = first; at <= now; at += stepMs) {
    const point = byTime.get(at);
    count = point?.online ?? count;
    series.x.push(at / 1000);
    series.online.push(count);
    series.calls.push(((point?.calls ?? 0) * 1000) / stepMs);
    series.failed.push(((point?.failed ?? 0) * 1000) / stepMs);
    series.p50.push(point?.p50 ?? null);
    series.p95.push(point?.p95 ?? null);
  }
  // The last point is the current number, whatever the steps contain.
  if (series.online.length > 0) series.online[series.online.length - 1] = online;
  return series;
}

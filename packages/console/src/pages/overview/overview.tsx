/** The gateway's statistics: devices, calls, failures and response times. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { OverviewRange, OverviewView } from "@tendon/protocol";
import { useMemo, useState } from "react";
import { api } from "../../api/client.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { PageHeader } from "../../shell/page-header.tsx";
import { Select } from "../../ui/field.tsx";
import { outcomeLabel, ProblemNote } from "../../ui/problem.tsx";
import { Empty, Panel, SkeletonRows } from "../../ui/states.tsx";
import { Chart } from "./chart.tsx";
import { seriesOf } from "./series.ts";

const ranges = ["15m", "1h", "24h"] as const satisfies readonly OverviewRange[];
const everyMs = 5_000;

export function OverviewPage() {
  const { t } = useI18n();
  const { principal } = useSession();
  const [range, setRange] = useState<OverviewRange>("15m");
  const { data, error, isPending } = useQuery({
    queryKey: ["overview", range],
    queryFn: ({ signal }) => api<OverviewView>(`/overview?range=${range}`, { signal }),
    refetchInterval: everyMs,
    placeholderData: keepPreviousData,
    enabled: !principal.limited,
  });
  return (
    <>
      <PageHeader
        title={t("overview.title")}
        lead={t("overview.lead")}
        actions={
          <Select
            aria-label={t("overview.range")}
            value={range}
            onChange={({ target }) => setRange(target.value as OverviewRange)}
            className="w-44"
          >
            {ranges.map((each) => (
              <option key={each} value={each}>
                {t(`overview.range.${each}`)}
              </option>
            ))}
          </Select>
        }
      />
      {principal.limited && <Empty icon="overview" title={t("overview.limited")} />}
      {error !== null && <ProblemNote error={error} />}
      {isPending && !principal.limited && <SkeletonRows rows={8} />}
      {data !== undefined && <Figures view={data} />}
    </>
  );
}

function Figures({ view }: { readonly view: OverviewView }) {
  const i18n = useI18n();
  const { t, number, duration, clock } = i18n;
  const series = useMemo(() => seriesOf(view, Date.now()), [view]);
  const share = view.calls === 0 ? 0 : (100 * view.failed) / view.calls;
  const time = (ms: number | null) => (ms === null ? "—" : duration(ms));
  return (
    <div className="grid grid-cols-1 gap-5">
      {Date.parse(view.since) > Date.parse(view.from) && (
        <p className="text-sm text-soft">{t("overview.since", { when: clock(new Date(view.since)) })}</p>
      )}
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line md:grid-cols-4">
        <Figure name={t("overview.online")} value={number(view.online)} />
        <Figure name={t("overview.calls")} value={number(view.calls)} />
        <Figure name={t("overview.failed")} value={`${number(Math.round(share * 10) / 10)} %`} />
        <Figure name={t("overview.p95")} value={time(view.p95)} />
      </dl>
      <div className="grid grid-cols-1 gap-5 lg:grid-cols-2">
        <Chart
          title={t("overview.onlineOverTime")}
          unit=""
          whole
          x={series.x}
          lines={[{ name: t("overview.online"), values: series.online, colour: "accent", step: true }]}
        />
        <Chart
          title={t("overview.callsPerSecond")}
          unit="/s"
          x={series.x}
          lines={[
            { name: t("overview.calls"), values: series.calls, colour: "accent", fill: true },
            { name: t("overview.failures"), values: series.failed, colour: "bad" },
          ]}
        />
        <Chart
          title={t("overview.latency")}
          unit="ms"
          x={series.x}
          lines={[
            { name: "p50", values: series.p50, colour: "accent" },
            { name: "p95", values: series.p95, colour: "warn" },
          ]}
        />
        <Panel title={t("overview.failuresByReason")}>
          <Bars
            rows={view.failures.map(({ reason, count }) => ({
              name: outcomeLabel(i18n, reason),
              hint: reason,
              value: count,
              shown: number(count),
            }))}
            none={t("overview.noFailures")}
            tone="bg-bad"
          />
        </Panel>
        <Panel title={t("overview.slowest")} className="lg:col-span-2">
          <Bars
            rows={view.slowest.map(({ tool, p95, calls }) => ({
              name: tool,
              hint: t("overview.ofCalls", { calls }),
              value: p95,
              shown: duration(p95),
            }))}
            none={t("overview.noCalls")}
            tone="bg-accent"
          />
        </Panel>
      </div>
    </div>
  );
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div className="bg-surface px-4 py-3">
      <dt className="text-sm text-soft">{name}</dt>
      <dd className="text-2xl font-semibold">{value}</dd>
    </div>
  );
}

interface Bar {
  readonly name: string;
  readonly hint: string;
  readonly value: number;
  readonly shown: string;
}

function Bars({
  rows,
  none,
  tone,
}: {
  readonly rows: readonly Bar[];
  readonly none: string;
  readonly tone: string;
}) {
  const most = Math.max(1, ...rows.map(({ value }) => value));
  if (rows.length === 0) return <p className="px-4 pt-1 pb-4 text-soft">{none}</p>;
  return (
    <ul className="grid grid-cols-1 gap-3 px-4 pt-1 pb-4">
      {rows.map(({ name, hint, value, shown }) => (
        <li key={name + hint} className="grid grid-cols-1 gap-1">
          <span className="flex justify-between gap-3">
            <span className="min-w-0 truncate" title={hint}>
              {name}
            </span>
            <span className="text-soft">{shown}</span>
          </span>
          <span className="h-1.5 rounded-full bg-raised">
            <span
              className={`block h-full rounded-full ${tone}`}
              style={{ width: `${(100 * value) / most}%` }}
            />
          </span>
        </li>
      ))}
    </ul>
  );
}

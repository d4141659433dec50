/** The calls that run now, and the call history, updated live unless the user pauses it. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { errorTitles } from "@tendon/protocol";
import { useId, useMemo, useState } from "react";
import { useAliases } from "../../api/aliases.ts";
import { query } from "../../api/client.ts";
import { callsQuery } from "../../api/queries.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { useIsLive } from "../../live/live-context.tsx";
import { PageHeader } from "../../shell/page-header.tsx";
import { Button } from "../../ui/button.tsx";
import { ExportButtons } from "../../ui/export-buttons.tsx";
import { Select, TextInput } from "../../ui/field.tsx";
import { outcomeLabel, queueOutcomes } from "../../ui/problem.tsx";
import { Badge } from "../../ui/states.tsx";
import { type CallFilters, spanNames, textFields, useCallFilters } from "./call-filter.ts";
import { CallHistoryList } from "./call-list.tsx";
import { QueuedCalls } from "./queued-list.tsx";
import { RunningCalls } from "./running-list.tsx";

const outcomes = ["ok", "tool_error", ...queueOutcomes, ...Object.keys(errorTitles)];

export function CallsPage() {
  const { t } = useI18n();
  const live = useIsLive();
  const [paused, setPaused] = useState(false);
  const filters = useCallFilters();
  return (
    <>
      <PageHeader
        title={t("calls.title")}
        lead={t("calls.lead")}
        actions={
          <>
            <span role="status">
              {live && !paused ? (
                <Badge tone="ok">● {t("calls.live")}</Badge>
              ) : (
                <Badge>{t("calls.paused")}</Badge>
              )}
            </span>
            <Button icon={paused ? "play" : "clock"} aria-pressed={paused} onClick={() => setPaused(!paused)}>
              {t(paused ? "calls.resume" : "calls.pause")}
            </Button>
            <ExportButtons path={exportPath(filters)} name="tendon-calls" />
          </>
        }
      />
      <Filters filters={filters} />
      <RunningCalls />
      <QueuedCalls />
      <div className="overflow-hidden rounded-xl border border-line bg-surface">
        <CallHistoryList
          filter={filters.filter}
          paused={paused}
          none={filters.active ? t("calls.noMatch") : t("calls.none")}
        />
      </div>
    </>
  );
}

function exportPath({ filter }: CallFilters): string {
  return `/calls${query({ ...filter, automatic: filter.automatic === true })}`;
}

function Filters({ filters }: { readonly filters: CallFilters }) {
  const i18n = useI18n();
  const { t } = i18n;
  const { values, active, change, clear } = filters;
  const lists = useId();
  const known = useSuggestions();
  return (
    <div className="mb-4 flex flex-col gap-2">
      <div className="grid grid-cols-2 gap-2 sm:grid-cols-3 lg:grid-cols-5">
        {textFields.map((field) => (
          <div key={field}>
            <TextInput
              aria-label={t(`calls.${field}`)}
              placeholder={t(`calls.${field}`)}
              list={`${lists}-${field}`}
              value={values[field]}
              onChange={({ target }) => change(field, target.value)}
            />
            <datalist id={`${lists}-${field}`}>
              {known[field].map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
          </div>
        ))}
        <Select
          aria-label={t("calls.outcome")}
          value={values.outcome}
          onChange={({ target }) => change("outcome", target.value)}
        >
          <option value="">{t("calls.anyOutcome")}</option>
          {outcomes.map((each) => (
            <option key={each} value={each}>
              {outcomeLabel(i18n, each)}
            </option>
          ))}
        </Select>
        <Select
          aria-label={t("calls.when")}
          value={values.span === "" ? "all" : values.span}
          onChange={({ target }) => change("span", target.value === "all" ? "" : target.value)}
        >
          {spanNames.map((each) => (
            <option key={each} value={each}>
              {t(`calls.span.${each}`)}
            </option>
          ))}
        </Select>
      </div>
      <div className="flex min-h-8 flex-wrap items-center justify-between gap-x-4 gap-y-1 text-sm text-soft">
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={values.automatic === "true"}
            onChange={({ target }) => change("automatic", target.checked ? "true" : "")}
          />
          {t("calls.automatic")}
        </label>
        {active && (
          <Button look="quiet" icon="cross" onClick={clear}>
            {t("calls.clear")}
          </Button>
        )}
      </div>
    </div>
  );
}

/** What the latest calls contain, as suggestions for the filters. */
function useSuggestions(): Readonly<Record<(typeof textFields)[number], readonly string[]>> {
  const aliasOf = useAliases();
  const { data } = useInfiniteQuery(callsQuery({}));
  return useMemo(() => {
    const calls = data?.pages.flatMap((page) => page.calls) ?? [];
    const unique = (values: readonly string[]) => [...new Set(values)].sort();
    return {
      device: unique(calls.map(({ device }) => aliasOf(device))),
      tool: unique(calls.map(({ tool }) => tool)),
      principal: unique(calls.map(({ principal }) => principal)),
    };
  }, [data, aliasOf]);
}

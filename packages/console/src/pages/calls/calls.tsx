/** The call history, updated live unless the user pauses it. */
import { errorTitles } from "@tendon/protocol";
import { useDeferredValue, useMemo, useState } from "react";
import type { CallFilter } from "../../api/queries.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { useIsLive } from "../../live/live-context.tsx";
import { PageHeader } from "../../shell/page-header.tsx";
import { Button } from "../../ui/button.tsx";
import { Select, TextInput } from "../../ui/field.tsx";
import { outcomeLabel } from "../../ui/problem.tsx";
import { Badge } from "../../ui/states.tsx";
import { CallHistoryList } from "./call-list.tsx";

const outcomes = ["ok", "tool_error", ...Object.keys(errorTitles)];
const hour = 3_600_000;
const spans = { hour, day: 24 * hour, week: 168 * hour } as const;
type Span = keyof typeof spans | "all";

export function CallsPage() {
  const i18n = useI18n();
  const { t } = i18n;
  const live = useIsLive();
  const [paused, setPaused] = useState(false);
  const [text, setText] = useState({ device: "", tool: "", principal: "" });
  const [outcome, setOutcome] = useState("");
  const [span, setSpan] = useState<Span>("all");
  const deferred = useDeferredValue(text);
  const filter: CallFilter = useMemo(
    () => ({
      device: given(deferred.device),
      tool: given(deferred.tool),
      principal: given(deferred.principal),
      outcome: given(outcome),
      since: span === "all" ? undefined : new Date(Date.now() - spans[span]).toISOString(),
    }),
    [deferred, outcome, span],
  );
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
          </>
        }
      />
      <div className="mb-3 grid grid-cols-2 gap-2 md:grid-cols-5">
        {(["device", "tool", "principal"] as const).map((field) => (
          <TextInput
            key={field}
            aria-label={t(`calls.${field}`)}
            placeholder={t(`calls.${field}`)}
            value={text[field]}
            onChange={({ target }) => setText({ ...text, [field]: target.value })}
          />
        ))}
        <Select
          aria-label={t("calls.outcome")}
          value={outcome}
          onChange={({ target }) => setOutcome(target.value)}
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
          value={span}
          onChange={({ target }) => setSpan(target.value as Span)}
        >
          {(["all", "hour", "day", "week"] as const).map((each) => (
            <option key={each} value={each}>
              {t(`calls.span.${each}`)}
            </option>
          ))}
        </Select>
      </div>
      <div className="overflow-hidden rounded-xl border border-line bg-surface">
        <CallHistoryList filter={filter} paused={paused} />
      </div>
    </>
  );
}

function given(text: string): string | undefined {
  const trimmed = text.trim();
  return trimmed === "" ? undefined : trimmed;
}

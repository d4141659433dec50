import type { CallTrace } from "@tendon/protocol";
import { type I18n, useI18n } from "../../i18n/i18n.tsx";
import { Icon, type IconName } from "../../ui/icon.tsx";

export type EndedCall = CallTrace & { readonly outcome: string; readonly at: string };

export function hasEnded(trace: CallTrace): trace is EndedCall {
  return trace.outcome !== null && trace.at !== null;
}

interface Step {
  readonly label: string;
  readonly at: string | undefined;
  readonly icon: IconName;
  readonly tone: "done" | "bad" | "late";
  /** Time since the previous step. */
  readonly took: number | undefined;
}

const refusedByRule = new Set(["forbidden", "approval_required"]);
const refusedBefore = new Set([
  "tool_unknown",
  "arguments_invalid",
  "device_offline",
  "queue_full",
  "rate_limited",
  "payload_too_large",
]);

function stepsOf(trace: EndedCall, { t }: I18n): Step[] {
  const { outcome, askedAt, sentAt, at, queuedMs, durationMs, late } = trace;
  const asked: Step = {
    label: t("timeline.asked"),
    at: askedAt,
    icon: "play",
    tone: "done",
    took: undefined,
  };
  if (refusedByRule.has(outcome)) {
    const label = t(outcome === "forbidden" ? "timeline.refused" : "timeline.waits");
    return [asked, { label, at, icon: "lock", tone: "bad", took: durationMs }];
  }
  const allowed: Step = {
    label: t(trace.approval === null ? "timeline.allowed" : "timeline.approved"),
    at: askedAt,
    icon: "approvals",
    tone: "done",
    took: undefined,
  };
  if (refusedBefore.has(outcome) || sentAt === null) {
    return [
      asked,
      allowed,
      { label: t("timeline.notSent"), at, icon: "alert", tone: "bad", took: durationMs },
    ];
  }
  const sent: Step = { label: t("timeline.sent"), at: sentAt, icon: "chevron", tone: "done", took: queuedMs };
  const answered = outcome === "ok" || outcome === "tool_error" || outcome === "device_error";
  const end: Step = {
    label: t(
      answered ? "timeline.answered" : outcome === "device_timeout" ? "timeline.timeout" : "timeline.failed",
    ),
    at,
    icon: outcome === "ok" ? "check" : "alert",
    tone: outcome === "ok" ? "done" : "bad",
    took: Math.max(0, durationMs - queuedMs),
  };
  if (late === null) return [asked, allowed, sent, end];
  return [
    asked,
    allowed,
    sent,
    end,
    { label: t("timeline.late"), at: late.at, icon: "clock", tone: "late", took: late.lateMs },
  ];
}

const tones = {
  done: "border-ok text-ok bg-ok-soft",
  bad: "border-bad text-bad bg-bad-soft",
  late: "border-warn text-warn bg-warn-soft",
};

/** Horizontal on wide screens, vertical on narrow ones. */
export function Timeline({ trace }: { readonly trace: EndedCall }) {
  const i18n = useI18n();
  const steps = stepsOf(trace, i18n);
  return (
    <ol className="flex flex-col md:flex-row" aria-label={i18n.t("timeline.title")}>
      {steps.map(({ label, at, icon, tone, took }, place) => {
        const next = steps[place + 1];
        return (
          <li
            key={label}
            className={`flex gap-3 md:flex-col md:gap-2 ${next === undefined ? "" : "md:flex-1"}`}
          >
            <div className="flex flex-col items-center md:flex-row">
              <span
                className={`flex size-8 shrink-0 items-center justify-center rounded-full border ${tones[tone]}`}
              >
                <Icon name={icon} size={15} />
              </span>
              {next !== undefined && (
                <span className="relative min-h-4 w-px flex-1 bg-line-strong md:h-px md:min-h-0 md:w-auto">
                  {next.took !== undefined && (
                    <span className="absolute -top-5 left-1/2 hidden -translate-x-1/2 text-xs whitespace-nowrap text-soft md:block">
                      {i18n.duration(next.took)}
                    </span>
                  )}
                </span>
              )}
            </div>
            <div className="pb-4 md:pb-0">
              <p className="font-medium">{label}</p>
              <p className="text-xs text-soft">
                {at !== undefined && i18n.clock(new Date(at))}
                {took !== undefined && <span className="md:hidden"> · {i18n.duration(took)}</span>}
              </p>
            </div>
          </li>
        );
      })}
    </ol>
  );
}

/** The steps of a call, and the phases between them in which it waited. */
import { useQuery } from "@tanstack/react-query";
import type { ApprovalView, CallTrace } from "@tendon/protocol";
import { api, inPath } from "../../api/client.ts";
import { keys } from "../../api/queries.ts";
import { type I18n, type Key, useI18n } from "../../i18n/i18n.tsx";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { phaseText } from "../../ui/running-call.tsx";

interface Step {
  readonly label: string;
  readonly at: string | undefined;
  readonly icon: IconName;
  readonly tone: "done" | "bad" | "late" | "now" | "next";
  /** What the call waited for before this step, and how long. */
  readonly wait?: Wait | undefined;
}

/** A kind of waiting has one entry here, and one step that ends it. */
const phaseLabels = {
  away: "timeline.phase.away",
  approval: "timeline.phase.approval",
  checks: "timeline.phase.checks",
  queue: "timeline.phase.queue",
  prepare: "timeline.phase.prepare",
  device: "timeline.phase.device",
} as const satisfies Record<string, Key>;

interface Wait {
  /** `undefined`: only the time is known. */
  readonly phase: keyof typeof phaseLabels | undefined;
  readonly ms: number;
}

/** Shorter checks are not worth a word. */
const noticeableMs = 5;

const refusedByRule = new Set(["forbidden", "approval_required"]);

function stepsOf(trace: CallTrace, approval: ApprovalView | undefined, i18n: I18n): Step[] {
  const { t } = i18n;
  const { outcome, askedAt } = trace;
  const before = approval === undefined ? [] : approvalSteps(approval, i18n);
  const asked: Step = { label: t("timeline.asked"), at: askedAt, icon: "play", tone: "done" };
  if (trace.state === "queued") return [...before, asked, ...waitingSteps(trace, i18n)];
  const online = onlineSteps(trace, i18n);
  if (outcome === null) return [...before, asked, ...online, ...runningSteps(trace, i18n)];
  if (trace.expiresAt !== null && trace.startedAt === null)
    return [...before, asked, endOfWaiting(trace, outcome, i18n)];
  if (refusedByRule.has(outcome)) {
    const label = t(outcome === "forbidden" ? "timeline.refused" : "timeline.waits");
    const tone = outcome === "forbidden" ? "bad" : "late";
    return [asked, { label, at: trace.at ?? undefined, icon: "lock", tone }];
  }
  return [...before, asked, ...online, ...laterSteps(trace, outcome, i18n)];
}

/** How long a queued call has waited, or waited, until its device was online. */
export function awayMs({ askedAt, startedAt, at }: CallTrace): number {
  const end = startedAt ?? at;
  return Math.max(0, (end === null ? Date.now() : Date.parse(end)) - Date.parse(askedAt));
}

function waitingSteps(trace: CallTrace, { t }: I18n): Step[] {
  const wait: Wait = { phase: "away", ms: awayMs(trace) };
  return [
    { label: t("running.away"), at: undefined, icon: "clock", tone: "now", wait },
    { label: t("timeline.expires"), at: trace.expiresAt ?? undefined, icon: "cross", tone: "next" },
  ];
}

/** Of a queued call that has started. */
function onlineSteps(trace: CallTrace, { t }: I18n): Step[] {
  if (trace.startedAt === null) return [];
  const wait: Wait = { phase: "away", ms: awayMs(trace) };
  return [{ label: t("timeline.online"), at: trace.startedAt, icon: "wifi", tone: "done", wait }];
}

/** Outcomes of calls that ended while they waited, and their words; others were refused. */
const endsOfWaiting: Readonly<Record<string, Pick<Step, "icon" | "tone"> & { readonly label: Key }>> = {
  expired: { label: "timeline.expired", icon: "alert", tone: "bad" },
  cancelled: { label: "timeline.cancelled", icon: "cross", tone: "late" },
  superseded: { label: "timeline.superseded", icon: "refresh", tone: "late" },
};

function endOfWaiting(trace: CallTrace, outcome: string, { t }: I18n): Step {
  const { label, icon, tone } = endsOfWaiting[outcome] ?? {
    label: "timeline.refused",
    icon: "lock",
    tone: "bad",
  };
  const wait: Wait = { phase: "away", ms: awayMs(trace) };
  // Safe: none of these texts has a placeholder.
  return { label: t(label as "timeline.refused"), at: trace.at ?? undefined, icon, tone, wait };
}

/** The caller asked for approval with an earlier request, and repeated it when the approval was given. */
function approvalSteps({ askedAt, decidedAt, decidedBy }: ApprovalView, { t }: I18n): Step[] {
  const requested: Step = {
    label: t("timeline.approvalAsked"),
    at: askedAt,
    icon: "approvals",
    tone: "done",
  };
  if (decidedAt === null) return [requested];
  const ms = Date.parse(decidedAt) - Date.parse(askedAt);
  const label = t("timeline.approvedBy", { who: decidedBy ?? "" });
  return [requested, { label, at: decidedAt, icon: "check", tone: "done", wait: { phase: "approval", ms } }];
}

function runningSteps({ phase, tool, durationMs }: CallTrace, { t }: I18n): Step[] {
  const allowed: Step = { label: t("timeline.allowed"), at: undefined, icon: "approvals", tone: "done" };
  const sent: Step = { label: t("timeline.sent"), at: undefined, icon: "chevron", tone: "done" };
  const passed = phase === "checks" ? [] : phase === "queue" ? [allowed] : [allowed, sent];
  const label = phase === null ? t("timeline.now") : t(phaseText(phase, tool));
  const now: Step = {
    label,
    at: undefined,
    icon: "clock",
    tone: "now",
    wait: { phase: undefined, ms: durationMs },
  };
  return [...passed, now];
}

function laterSteps(trace: CallTrace, outcome: string, { t }: I18n): Step[] {
  const { allowedAt, sentAt, queuedMs, durationMs, late } = trace;
  const at = trace.at ?? undefined;
  // The other times of a queued call count from when its device was online.
  const startedAt = trace.startedAt ?? trace.askedAt;
  const asked = Date.parse(startedAt);
  const checkedMs = allowedAt === null ? 0 : Date.parse(allowedAt) - asked;
  const elicited = trace.approval === "elicited";
  const waited = elicited || checkedMs >= noticeableMs;
  const checks: Wait = { phase: elicited ? "approval" : "checks", ms: checkedMs };
  const allowed: Step = {
    label: t(trace.approval === null ? "timeline.allowed" : "timeline.approved"),
    at: allowedAt ?? startedAt,
    icon: "approvals",
    tone: "done",
    ...(waited ? { wait: checks } : {}),
  };
  if (sentAt === null) {
    // The access rules had allowed it if it failed later than that: in the queue, or because the device left.
    const passed = allowedAt === null ? [] : [allowed];
    const wait: Wait = { phase: allowedAt === null ? undefined : "queue", ms: durationMs - checkedMs };
    return [...passed, { label: t("timeline.notSent"), at, icon: "alert", tone: "bad", wait }];
  }
  const sentMs = Date.parse(sentAt) - asked;
  const sent: Step = {
    label: t("timeline.sent"),
    at: sentAt,
    icon: "chevron",
    tone: "done",
    wait: beforeSending(queuedMs, sentMs - checkedMs),
  };
  const answered = outcome === "ok" || outcome === "tool_error" || outcome === "device_error";
  const end: Step = {
    label: t(
      answered ? "timeline.answered" : outcome === "device_timeout" ? "timeline.timeout" : "timeline.failed",
    ),
    at,
    icon: outcome === "ok" ? "check" : "alert",
    tone: outcome === "ok" ? "done" : "bad",
    wait: { phase: "device", ms: Math.max(0, durationMs - sentMs) },
  };
  const steps = [allowed, sent, end];
  if (late === null) return steps;
  const wait = { phase: undefined, ms: late.lateMs };
  return [...steps, { label: t("timeline.late"), at: late.at, icon: "clock", tone: "late", wait }];
}

/** A photo needs an address for its upload first. Any other call only waits for its turn. */
function beforeSending(queuedMs: number, allMs: number): Wait {
  const prepared = allMs - queuedMs > Math.max(noticeableMs, queuedMs);
  return prepared ? { phase: "prepare", ms: allMs } : { phase: "queue", ms: queuedMs };
}

const tones = {
  done: "border-ok text-ok bg-ok-soft",
  bad: "border-bad text-bad bg-bad-soft",
  late: "border-warn text-warn bg-warn-soft",
  now: "border-accent text-accent-deep bg-accent-soft",
  next: "border-dashed border-line-strong text-soft",
};

/** Horizontal on wide screens, vertical on narrow ones. */
export function Timeline({ trace }: { readonly trace: CallTrace }) {
  const i18n = useI18n();
  const approval = useApproval(trace.approval);
  const steps = stepsOf(trace, approval, i18n);
  return (
    <ol className="flex flex-col pt-1 lg:flex-row lg:pt-5" aria-label={i18n.t("timeline.title")}>
      {steps.map(({ label, at, icon, tone }, place) => {
        const next = steps[place + 1];
        const wait = next?.wait;
        return (
          <li
            key={label}
            className={`flex min-w-0 gap-3 lg:flex-col lg:gap-2 ${next === undefined ? "" : "lg:flex-1"}`}
          >
            <div className="flex flex-col items-center lg:flex-row">
              <span
                className={`flex size-8 shrink-0 items-center justify-center rounded-full border ${tones[tone]}`}
              >
                <Icon name={icon} size={15} />
              </span>
              {next !== undefined && (
                <span className="relative min-h-4 w-px flex-1 bg-line-strong lg:h-px lg:min-h-0 lg:w-auto">
                  {wait !== undefined && (
                    <span className="absolute -top-5 left-1/2 hidden max-w-full -translate-x-1/2 truncate px-1 text-xs text-soft lg:block">
                      {waitText(wait, i18n)}
                    </span>
                  )}
                </span>
              )}
            </div>
            <div className="min-w-0 pb-4 lg:pr-3 lg:pb-0">
              <p className="font-medium">{label}</p>
              <p className="text-xs text-soft">{at !== undefined && i18n.clock(new Date(at))}</p>
              {wait !== undefined && (
                <p className="pt-2 text-xs text-soft lg:hidden">↓ {waitText(wait, i18n)}</p>
              )}
            </div>
          </li>
        );
      })}
    </ol>
  );
}

function waitText({ phase, ms }: Wait, { t, duration }: I18n): string {
  return phase === undefined ? duration(ms) : `${t(phaseLabels[phase])} ${duration(ms)}`;
}

/** An approval that the person at the caller's client gave has no record. */
function useApproval(id: string | null): ApprovalView | undefined {
  const known = id !== null && id !== "elicited";
  const { data } = useQuery({
    queryKey: [...keys.approvals, "one", id],
    queryFn: ({ signal }) => api<ApprovalView>(`/approvals/${inPath(id ?? "")}`, { signal }),
    enabled: known,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data;
}

/** One call: what happened when, what the device answered, who called, and the frames on the wire. */

import { useQuery } from "@tanstack/react-query";
import { type CallTrace, consolePaths, type FrameList } from "@tendon/protocol";
import { useCallback, useState } from "react";
import { Link, useLocation, useParams } from "wouter";
import { useAliases } from "../../api/aliases.ts";
import { useToolCall } from "../../api/calls.ts";
import { ApiError, api, inPath } from "../../api/client.ts";
import { useOwnCalls } from "../../api/own-calls.ts";
import { deviceQuery, keys, toolsQuery } from "../../api/queries.ts";
import { type ExpiryChoice, useCancelQueued, useMayCancel, useQueueCall } from "../../api/queued-calls.ts";
import { useSession } from "../../api/session.tsx";
import { type I18n, useI18n } from "../../i18n/i18n.tsx";
import { callAddress, deviceAddress } from "../../shell/navigation.ts";
import { PageHeader } from "../../shell/page-header.tsx";
import { BackLink } from "../../ui/back-link.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyAs } from "../../ui/copy-as.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { useEscape } from "../../ui/keyboard.ts";
import { outcomeLabel, outcomeTone, ProblemNote } from "../../ui/problem.tsx";
import { Elapsed, RunningDot } from "../../ui/running-call.tsx";
import { Badge, Panel, SkeletonRows } from "../../ui/states.tsx";
import { Clock, Expiry, useNow } from "../../ui/time.tsx";
import { answeredFalse, titleOf } from "../../ui/tool-names.ts";
import { onlyText } from "../../ui/tool-result.tsx";
import { Frames } from "../device/activity-tabs.tsx";
import { ExpirySelect } from "../device/queue-offer.tsx";
import { CallAnswer } from "./call-answer.tsx";
import { CallFacts } from "./call-origin.tsx";
import { CallValues } from "./call-values.tsx";
import { Timeline } from "./timeline.tsx";

const runningEveryMs = 1_000;
/** No event announces that a queued call starts to run. */
const queuedEveryMs = 5_000;

export function CallPage() {
  const { call = "" } = useParams<{ call: string }>();
  const { data, error } = useQuery({
    queryKey: [...keys.calls, call],
    queryFn: ({ signal }) => api<CallTrace>(`/calls/${inPath(call)}`, { signal }),
    refetchInterval: ({ state }) => refreshMs(state.data?.state),
  });
  if (data === undefined) return error === null ? <SkeletonRows /> : <ProblemNote error={error} />;
  return <TraceView trace={data} />;
}

function refreshMs(state: CallTrace["state"] | undefined): number | false {
  if (state === "running") return runningEveryMs;
  return state === "queued" && queuedEveryMs;
}

function TraceView({ trace }: { readonly trace: CallTrace }) {
  const { t } = useI18n();
  const aliasOf = useAliases();
  const { may } = useSession();
  const [, navigate] = useLocation();
  useEscape(useCallback(() => navigate(consolePaths.calls), [navigate]));
  const alias = aliasOf(trace.device);
  return (
    <div className="flex flex-col gap-5 [&>header]:-mt-3 [&>header]:mb-0">
      <BackLink to={consolePaths.calls}>{t("nav.calls")}</BackLink>
      <PageHeader
        title={titleOf(trace.tool)}
        lead={
          <>
            <code className="font-mono text-sm break-all">{trace.tool}</code> ·{" "}
            <Link href={deviceAddress(trace.device)} className="text-accent-deep underline">
              {alias}
            </Link>
          </>
        }
        actions={
          <>
            {trace.arguments !== null && (
              <CopyAs call={{ device: alias, tool: trace.tool, args: trace.arguments }} />
            )}
            {trace.state === "running" && <CancelCall trace={trace} />}
            {trace.state === "queued" && <CancelQueued trace={trace} />}
            {trace.state === "finished" && may("call") && <Retry trace={trace} alias={alias} />}
          </>
        }
      />
      <Panel
        title={<Outcome trace={trace} />}
        actions={
          <span className="text-sm text-soft">
            <Clock at={trace.askedAt} />
          </span>
        }
      >
        <div className="p-4">
          <Timeline trace={trace} />
        </div>
      </Panel>
      <div className="grid grid-cols-1 items-start gap-5 lg:grid-cols-2">
        <CallAnswer trace={trace} />
        <div className="grid grid-cols-1 gap-5">
          <CallValues trace={trace} />
          <CallFacts trace={trace} />
        </div>
      </div>
      {may("admin") && trace.sentAt !== null && <CallFrames trace={trace} />}
    </div>
  );
}

function Outcome({ trace }: { readonly trace: CallTrace }) {
  const i18n = useI18n();
  const now = Math.max(useNow(), Date.now());
  const { outcome, durationMs, askedAt, expiresAt, startedAt } = trace;
  if (trace.state === "queued" && expiresAt !== null) {
    return (
      <span className="flex flex-wrap items-center gap-x-2" role="status">
        <Badge tone="accent">
          <Icon name="clock" size={12} />
          {i18n.t("running.away")}
        </Badge>
        <span className="font-normal text-soft">
          <Expiry at={expiresAt} />
        </span>
      </span>
    );
  }
  if (outcome === null) {
    return (
      <span className="flex items-center gap-2" role="status">
        <RunningDot />
        {i18n.t("outcome.running")}
        <span className="font-normal">
          <Elapsed ms={now - Date.parse(startedAt ?? askedAt)} />
        </span>
      </span>
    );
  }
  const { tone, label } = outcomeOf(trace, outcome, i18n);
  return (
    <span className="flex items-center gap-2">
      <Badge tone={tone}>{label}</Badge>
      {(expiresAt === null || startedAt !== null) && (
        <span className="font-normal text-soft">{i18n.duration(durationMs)}</span>
      )}
    </span>
  );
}

function outcomeOf({ tool, answer }: CallTrace, outcome: string, i18n: I18n) {
  if (answeredFalse(tool, onlyText(answer?.content ?? [])))
    return { tone: "warn" as const, label: i18n.t("outcome.false") };
  return { tone: outcomeTone(outcome), label: outcomeLabel(i18n, outcome) };
}

/** Only the page that made the call can cancel it: the gateway ends a call when its client disconnects. */
function CancelCall({ trace }: { readonly trace: CallTrace }) {
  const { t } = useI18n();
  const own = useOwnCalls().find(({ request }) => request === trace.origin?.request);
  if (own === undefined) return null;
  return (
    <Button icon="cross" onClick={own.cancel}>
      {t("action.cancel")}
    </Button>
  );
}

function CancelQueued({ trace }: { readonly trace: CallTrace }) {
  const { t } = useI18n();
  const cancel = useCancelQueued();
  const mayCancel = useMayCancel();
  if (!mayCancel(trace)) return null;
  return (
    <>
      <Button icon="cross" disabled={cancel.isPending} onClick={() => cancel.mutate(trace.callId)}>
        {t("action.cancel")}
      </Button>
      {cancel.isError && <ProblemNote error={cancel.error} />}
    </>
  );
}

/** The frames of the call, while the gateway still keeps them. */
function CallFrames({ trace }: { readonly trace: CallTrace }) {
  const { t } = useI18n();
  const { data } = useQuery({
    queryKey: ["device", trace.device, "frames", trace.callId],
    queryFn: ({ signal }) =>
      api<FrameList>(`/devices/${inPath(trace.device)}/frames?call=${inPath(trace.callId)}`, { signal }),
    retry: false,
  });
  const frames = data?.frames ?? [];
  return (
    <Panel title={t("call.frames")}>
      {frames.length === 0 ? (
        <p className="px-4 pt-1 pb-4 text-soft">{t("call.noFrames")}</p>
      ) : (
        <Frames frames={frames} order="time" />
      )}
    </Panel>
  );
}

function Retry({ trace, alias }: { readonly trace: CallTrace; readonly alias: string }) {
  const { t } = useI18n();
  const [, navigate] = useLocation();
  const [asking, setAsking] = useState(false);
  const tools = useQuery(toolsQuery(trace.device));
  const device = useQuery(deviceQuery(trace.device));
  const offline = device.data?.online === false && device.data.approval !== "revoked";
  const [expiry, setExpiry] = useState<ExpiryChoice>("day");
  const call = useToolCall(trace.device);
  const queue = useQueueCall(trace.device);
  const tool = tools.data?.tools.find(({ name }) => name === trace.tool);
  const args = trace.arguments;
  const label = t(offline ? "queue.action" : trace.outcome === "ok" ? "call.repeat" : "call.retry");
  // Masked values would be sent masked, so such a call cannot be repeated.
  const whole = args !== null && !JSON.stringify(args).includes("•••");
  const again = async () => {
    setAsking(false);
    try {
      const request = { tool: trace.tool, args: args ?? {} };
      const { callId } = await (offline
        ? queue.mutateAsync({ ...request, expiry })
        : call.mutateAsync(request));
      navigate(callAddress(callId));
    } catch (error) {
      const id =
        error instanceof ApiError ? error.problem["callId" as keyof typeof error.problem] : undefined;
      if (typeof id === "string") navigate(callAddress(id));
    }
  };
  if (!whole || tool === undefined) {
    return (
      <Link href={deviceAddress(trace.device)} className="text-sm text-accent-deep underline">
        {t("call.openDevice")}
      </Link>
    );
  }
  return (
    <>
      {offline && <ExpirySelect expiry={expiry} onExpiry={setExpiry} />}
      <Button
        look="primary"
        icon={offline ? "clock" : "refresh"}
        disabled={call.isPending || queue.isPending || tool.access === "denied"}
        onClick={() => (tool.audience === "user" ? setAsking(true) : void again())}
      >
        {label}
      </Button>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        onConfirm={() => void again()}
        title={t("confirm.title", { tool: titleOf(trace.tool), device: alias })}
        effect={tool.description}
        action={label}
      />
    </>
  );
}

/** The trace of one call: requested, allowed, queued, sent, answered or failed, and why. */

import { useQuery } from "@tanstack/react-query";
import { type CallTrace, consolePaths, type FrameList } from "@tendon/protocol";
import { useCallback, useState } from "react";
import { Link, useLocation, useParams } from "wouter";
import { useAliases } from "../../api/aliases.ts";
import { useToolCall } from "../../api/calls.ts";
import { ApiError, api, inPath } from "../../api/client.ts";
import { keys, toolsQuery } from "../../api/queries.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { callAddress, deviceAddress } from "../../shell/navigation.ts";
import { PageHeader } from "../../shell/page-header.tsx";
import { BackLink } from "../../ui/back-link.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyAs } from "../../ui/copy-as.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { useEscape } from "../../ui/keyboard.ts";
import { outcomeLabel, outcomeTone, ProblemNote, problemTexts } from "../../ui/problem.tsx";
import { Badge, Panel, SkeletonRows } from "../../ui/states.tsx";
import { Clock } from "../../ui/time.tsx";
import { titleOf } from "../../ui/tool-names.ts";
import { Frames } from "../device/activity-tabs.tsx";
import { type EndedCall, hasEnded, Timeline } from "./timeline.tsx";

export function CallPage() {
  const { call = "" } = useParams<{ call: string }>();
  const { data, error } = useQuery({
    queryKey: [...keys.calls, call],
    queryFn: ({ signal }) => api<CallTrace>(`/calls/${inPath(call)}`, { signal }),
  });
  if (error !== null) return <ProblemNote error={error} />;
  if (data === undefined || !hasEnded(data)) return <SkeletonRows />;
  return <TraceView trace={data} />;
}

function TraceView({ trace }: { readonly trace: EndedCall }) {
  const i18n = useI18n();
  const { t, duration } = i18n;
  const aliasOf = useAliases();
  const { may } = useSession();
  const [, navigate] = useLocation();
  useEscape(useCallback(() => navigate(consolePaths.calls), [navigate]));
  const alias = aliasOf(trace.device);
  const failed = trace.outcome !== "ok";
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
            {may("call") && <Retry trace={trace} alias={alias} />}
          </>
        }
      />
      <Panel
        title={
          <span className="flex items-center gap-2">
            <Badge tone={outcomeTone(trace.outcome)}>{outcomeLabel(i18n, trace.outcome)}</Badge>
            <span className="font-normal text-soft">{duration(trace.durationMs)}</span>
          </span>
        }
        actions={
          <span className="text-sm text-soft">
            <Clock at={trace.askedAt} />
          </span>
        }
      >
        <div className="p-4">
          <Timeline trace={trace} />
        </div>
        {failed && (trace.outcome !== "tool_error" || trace.detail !== null) && (
          <p className="px-4 pb-4">
            {trace.detail !== null && <span className="block break-words">{trace.detail}</span>}
            {trace.outcome !== "tool_error" && (
              <span className="text-soft">{problemTexts(i18n, trace.outcome).next}</span>
            )}{" "}
            {trace.outcome === "approval_required" && (
              <Link href={consolePaths.approvals} className="text-accent-deep underline">
                {t("nav.approvals")}
              </Link>
            )}
          </p>
        )}
      </Panel>
      <div className="grid grid-cols-1 items-start gap-5 lg:grid-cols-2">
        <Panel title={t("call.facts")}>
          <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 px-4 pt-1 pb-4">
            <Fact name={t("call.principal")} value={trace.principal} />
            <Fact name={t("call.queued")} value={duration(trace.queuedMs)} />
            <Fact name={t("call.total")} value={duration(trace.durationMs)} />
            {trace.approval !== null && <Fact name={t("call.approval")} value={trace.approval} />}
            <Fact name={t("call.id")} value={trace.callId} />
          </dl>
        </Panel>
        <Panel title={t("call.arguments")}>
          <div className="px-4 pt-1 pb-4">
            {trace.arguments === null ? (
              <p className="text-soft">{t("call.forgotten")}</p>
            ) : Object.keys(trace.arguments).length === 0 ? (
              <p className="text-soft">{t("confirm.noValues")}</p>
            ) : (
              <JsonView value={trace.arguments} />
            )}
          </div>
        </Panel>
      </div>
      {may("admin") && <CallFrames trace={trace} />}
    </div>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt className="text-soft">{name}</dt>
      <dd className="break-all">{value}</dd>
    </>
  );
}

/** A busy gateway may record the frame this long after the call's `sentAt`. */
const frameSlackMs = 2_000;

/** The frames of the call, while the gateway still keeps them. */
function CallFrames({ trace }: { readonly trace: CallTrace }) {
  const { t } = useI18n();
  const { data } = useQuery({
    queryKey: ["device", trace.device, "frames", trace.callId],
    queryFn: ({ signal }) => api<FrameList>(`/devices/${inPath(trace.device)}/frames`, { signal }),
    retry: false,
  });
  const frames = framesOf(trace, data?.frames ?? []);
  return (
    <Panel title={t("call.frames")}>
      {frames.length === 0 ? (
        <p className="px-4 pt-1 pb-4 text-soft">{t("call.noFrames")}</p>
      ) : (
        <Frames frames={frames} />
      )}
    </Panel>
  );
}

/** The request with the tool's name that was sent closest to `sentAt`, and all frames with its id. */
function framesOf(trace: CallTrace, frames: FrameList["frames"]): FrameList["frames"] {
  const sentAt = Date.parse(trace.sentAt ?? trace.askedAt);
  const apart = ({ at }: FrameList["frames"][number]) => Math.abs(Date.parse(at) - sentAt);
  const [request] = frames
    .filter((frame) => frame.way === "out" && frame.text.includes(JSON.stringify(trace.tool)))
    .filter((frame) => apart(frame) <= frameSlackMs)
    .toSorted((one, other) => apart(one) - apart(other));
  const id = request === undefined ? undefined : idIn(request.text);
  return id === undefined ? [] : frames.filter(({ text }) => idIn(text) === id);
}

function idIn(text: string): string | undefined {
  return /"id":("[^"]*"|-?\d+)/.exec(text)?.[1];
}

function Retry({ trace, alias }: { readonly trace: CallTrace; readonly alias: string }) {
  const { t } = useI18n();
  const [, navigate] = useLocation();
  const [asking, setAsking] = useState(false);
  const tools = useQuery(toolsQuery(trace.device));
  const call = useToolCall(trace.device);
  const tool = tools.data?.tools.find(({ name }) => name === trace.tool);
  const args = trace.arguments;
  // Masked values would be sent masked, so such a call cannot be repeated.
  const whole = args !== null && !JSON.stringify(args).includes("•••");
  const again = async () => {
    setAsking(false);
    try {
      const { callId } = await call.mutateAsync({ tool: trace.tool, args: args ?? {} });
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
      <Button
        look="primary"
        icon="refresh"
        disabled={call.isPending || tool.access === "denied"}
        onClick={() => (tool.audience === "user" ? setAsking(true) : void again())}
      >
        {t("call.retry")}
      </Button>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        onConfirm={() => void again()}
        title={t("confirm.title", { tool: titleOf(trace.tool), device: alias })}
        effect={tool.description}
        action={t("call.retry")}
      />
    </>
  );
}

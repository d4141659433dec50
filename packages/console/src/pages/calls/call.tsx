/** One call's whole story: asked, allowed, queued, sent, answered or not, and why. */

import { useQuery } from "@tanstack/react-query";
import { type CallStory, consolePaths, type FrameList } from "@tendon/protocol";
import { useCallback, useState } from "react";
import { Link, useLocation, useParams } from "wouter";
import { useAliases } from "../../api/aliases.ts";
import { useToolCall } from "../../api/calls.ts";
import { ApiError, api, inPath } from "../../api/client.ts";
import { keys, toolsQuery } from "../../api/queries.ts";
import { useSession } from "../../api/session.tsx";
import { useWords } from "../../i18n/i18n.tsx";
import { callAddress, deviceAddress } from "../../shell/navigation.ts";
import { PageHeader } from "../../shell/page-header.tsx";
import { BackLink } from "../../ui/back-link.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyAs } from "../../ui/copy-as.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { useEscape } from "../../ui/keyboard.ts";
import { outcomeTone, outcomeWord, ProblemNote, problemWords } from "../../ui/problem.tsx";
import { Badge, Panel, SkeletonRows } from "../../ui/states.tsx";
import { Clock } from "../../ui/time.tsx";
import { titleOf } from "../../ui/tool-names.ts";
import { Frames } from "../device/story-tabs.tsx";
import { Timeline } from "./timeline.tsx";

export function CallPage() {
  const { call = "" } = useParams<{ call: string }>();
  const { data, error } = useQuery({
    queryKey: [...keys.calls, call],
    queryFn: ({ signal }) => api<CallStory>(`/calls/${inPath(call)}`, { signal }),
  });
  if (error !== null) return <ProblemNote error={error} />;
  if (data === undefined) return <SkeletonRows />;
  return <Story story={data} />;
}

function Story({ story }: { readonly story: CallStory }) {
  const words = useWords();
  const { t, duration } = words;
  const aliasOf = useAliases();
  const { may } = useSession();
  const [, navigate] = useLocation();
  useEscape(useCallback(() => navigate(consolePaths.calls), [navigate]));
  const alias = aliasOf(story.device);
  const failed = story.outcome !== "ok";
  return (
    <div className="flex flex-col gap-5 [&>header]:-mt-3 [&>header]:mb-0">
      <BackLink to={consolePaths.calls}>{t("nav.calls")}</BackLink>
      <PageHeader
        title={titleOf(story.tool)}
        lead={
          <>
            <code className="font-mono text-sm break-all">{story.tool}</code> ·{" "}
            <Link href={deviceAddress(story.device)} className="text-accent-deep underline">
              {alias}
            </Link>
          </>
        }
        actions={
          <>
            {story.arguments !== null && (
              <CopyAs call={{ device: alias, tool: story.tool, args: story.arguments }} />
            )}
            {may("call") && <Retry story={story} alias={alias} />}
          </>
        }
      />
      <Panel
        title={
          <span className="flex items-center gap-2">
            <Badge tone={outcomeTone(story.outcome)}>{outcomeWord(words, story.outcome)}</Badge>
            <span className="font-normal text-soft">{duration(story.durationMs)}</span>
          </span>
        }
        actions={
          <span className="text-sm text-soft">
            <Clock at={story.askedAt} />
          </span>
        }
      >
        <div className="p-4">
          <Timeline story={story} />
        </div>
        {failed && (story.outcome !== "tool_error" || story.detail !== null) && (
          <p className="px-4 pb-4">
            {story.detail !== null && <span className="block break-words">{story.detail}</span>}
            {story.outcome !== "tool_error" && (
              <span className="text-soft">{problemWords(words, story.outcome).next}</span>
            )}{" "}
            {story.outcome === "approval_required" && (
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
            <Fact name={t("call.principal")} value={story.principal} />
            <Fact name={t("call.queued")} value={duration(story.queuedMs)} />
            <Fact name={t("call.total")} value={duration(story.durationMs)} />
            {story.approval !== null && <Fact name={t("call.approval")} value={story.approval} />}
            <Fact name={t("call.id")} value={story.callId} />
          </dl>
        </Panel>
        <Panel title={t("call.arguments")}>
          <div className="px-4 pt-1 pb-4">
            {story.arguments === null ? (
              <p className="text-soft">{t("call.forgotten")}</p>
            ) : Object.keys(story.arguments).length === 0 ? (
              <p className="text-soft">{t("confirm.noValues")}</p>
            ) : (
              <JsonView value={story.arguments} />
            )}
          </div>
        </Panel>
      </div>
      {may("admin") && <CallFrames story={story} />}
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

/** A busy gateway writes a frame this long after it noted that it sends the call. */
const frameSlackMs = 2_000;

/** The frames of its time, while they are still kept. */
function CallFrames({ story }: { readonly story: CallStory }) {
  const { t } = useWords();
  const { data } = useQuery({
    queryKey: ["device", story.device, "frames", story.callId],
    queryFn: ({ signal }) => api<FrameList>(`/devices/${inPath(story.device)}/frames`, { signal }),
    retry: false,
  });
  const frames = framesOf(story, data?.frames ?? []);
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

/** The request that names the tool and left nearest to when the call was sent, and everything under its id. */
function framesOf(story: CallStory, frames: FrameList["frames"]): FrameList["frames"] {
  const sentAt = Date.parse(story.sentAt ?? story.askedAt);
  const apart = ({ at }: FrameList["frames"][number]) => Math.abs(Date.parse(at) - sentAt);
  const [request] = frames
    .filter((frame) => frame.way === "out" && frame.text.includes(JSON.stringify(story.tool)))
    .filter((frame) => apart(frame) <= frameSlackMs)
    .toSorted((one, other) => apart(one) - apart(other));
  const id = request === undefined ? undefined : idIn(request.text);
  return id === undefined ? [] : frames.filter(({ text }) => idIn(text) === id);
}

function idIn(text: string): string | undefined {
  return /"id":("[^"]*"|-?\d+)/.exec(text)?.[1];
}

function Retry({ story, alias }: { readonly story: CallStory; readonly alias: string }) {
  const { t } = useWords();
  const [, navigate] = useLocation();
  const [asking, setAsking] = useState(false);
  const tools = useQuery(toolsQuery(story.device));
  const call = useToolCall(story.device);
  const tool = tools.data?.tools.find(({ name }) => name === story.tool);
  const args = story.arguments;
  // Masked values would be sent as they are shown.
  const whole = args !== null && !JSON.stringify(args).includes("•••");
  const again = async () => {
    setAsking(false);
    try {
      const { callId } = await call.mutateAsync({ tool: story.tool, args: args ?? {} });
      navigate(callAddress(callId));
    } catch (error) {
      const id =
        error instanceof ApiError ? error.problem["callId" as keyof typeof error.problem] : undefined;
      if (typeof id === "string") navigate(callAddress(id));
    }
  };
  if (!whole || tool === undefined) {
    return (
      <Link href={deviceAddress(story.device)} className="text-sm text-accent-deep underline">
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
        title={t("confirm.title", { tool: titleOf(story.tool), device: alias })}
        effect={tool.description}
        action={t("call.retry")}
      />
    </>
  );
}

import type { CallReply } from "@tendon/protocol";
import type { useToolCall } from "../../api/calls.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { RunningCall } from "../../ui/running-call.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { ToolResult } from "../../ui/tool-result.tsx";

/** What a call for a picture shows below its button: its need of approval, its phase, the picture or the error. */
export function PictureOutcome({
  call,
  needsApproval,
  shown,
}: {
  readonly call: ReturnType<typeof useToolCall>;
  readonly needsApproval: boolean;
  /** The part of the reply to show. */
  readonly shown: (reply: CallReply) => CallReply;
}) {
  const { t } = useI18n();
  return (
    <>
      {needsApproval && <p className="text-sm text-soft">{t("blocked.eachUse")}</p>}
      {call.isPending && <RunningCall call={call.running} />}
      {call.isPending && <Skeleton className="mt-2 aspect-video w-full" />}
      {call.isSuccess && <ToolResult reply={shown(call.data)} />}
      {call.isError && <ProblemNote error={call.error} />}
    </>
  );
}

/** Calls that require approval: the caller, the exact call, and the buttons to approve or deny it. */

import { useQueryClient } from "@tanstack/react-query";
import type { ApprovalView } from "@tendon/protocol";
import { useId } from "react";
import { useAliases } from "../../api/aliases.ts";
import { useApprovals, useDecide } from "../../api/approvals.ts";
import { keys } from "../../api/queries.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { useEvents } from "../../live/live-context.tsx";
import { PageHeader } from "../../shell/page-header.tsx";
import { Button } from "../../ui/button.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Badge, Empty, Panel, SkeletonRows } from "../../ui/states.tsx";
import { Ago, Clock } from "../../ui/time.tsx";
import { titleOf } from "../../ui/tool-names.ts";

export function ApprovalsPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const client = useQueryClient();
  const all = useApprovals();
  // An approval is consumed by its call.
  useEvents(["call.finished"], () => {
    const granted = all.data?.approvals.some(({ state }) => state === "approved") === true;
    if (granted) void client.invalidateQueries({ queryKey: keys.approvals });
  });
  const waiting = all.data?.approvals.filter(({ state }) => state === "waiting") ?? [];
  const decided = all.data?.approvals.filter(({ state }) => state !== "waiting") ?? [];
  return (
    <>
      <PageHeader title={t("approvals.title")} lead={t("approvals.lead")} />
      {all.isError && <ProblemNote error={all.error} />}
      {all.isLoading && <SkeletonRows rows={3} />}
      {!may("call") && !may("call:user") && <p className="text-soft">{t("approvals.mayNot")}</p>}
      {all.isSuccess && waiting.length === 0 && (
        <Empty icon="approvals" title={t("approvals.none")}>
          <p>{t("approvals.noneHint")}</p>
        </Empty>
      )}
      <div className="grid grid-cols-1 gap-4" aria-live="polite">
        {waiting.map((approval) => (
          <Request key={approval.id} approval={approval} />
        ))}
      </div>
      {decided.length > 0 && (
        <Panel title={t("approvals.decided")} className="mt-6">
          <ul className="divide-y divide-line border-t border-line">
            {decided.slice(0, 50).map((approval) => (
              <Decided key={approval.id} approval={approval} />
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

function useTarget(approval: ApprovalView): string {
  const { t } = useI18n();
  const aliasOf = useAliases();
  return approval.device === null ? t("approvals.many") : aliasOf(approval.device);
}

function Request({ approval }: { readonly approval: ApprovalView }) {
  const { t } = useI18n();
  const { may, principal } = useSession();
  const decide = useDecide();
  const target = useTarget(approval);
  const own = approval.principal === principal.name;
  const why = own ? "approvals.own" : may("call:user") ? undefined : "approvals.mayNot";
  const note = useId();
  const blocked = decide.isPending || why !== undefined;
  const describedBy = why === undefined ? undefined : note;
  return (
    <Panel label={t("approvals.request", { who: approval.principal })}>
      <div className="grid grid-cols-1 gap-4 p-4 md:grid-cols-[minmax(0,1fr)_auto]">
        <div className="min-w-0">
          <h2 className="text-lg font-semibold">
            {t("approvals.asks", { who: approval.principal, tool: titleOf(approval.tool), device: target })}
          </h2>
          <p className="text-soft">
            <code className="font-mono text-sm">{approval.tool}</code> · <Ago at={approval.askedAt} /> ·{" "}
            {t("approvals.until")} <Clock at={approval.expiresAt} />
          </p>
          {approval.reason !== undefined && <p className="mt-2">{approval.reason}</p>}
          <div className="mt-3 rounded-lg bg-raised p-3">
            {Object.keys(approval.arguments).length === 0 ? (
              <p className="text-sm text-soft">{t("confirm.noValues")}</p>
            ) : (
              <JsonView value={approval.arguments} />
            )}
            {approval.target !== undefined && (
              <JsonView name={t("approvals.target")} value={approval.target} />
            )}
          </div>
        </div>
        <div className="flex gap-2 md:flex-col">
          <Button
            look="primary"
            icon="check"
            disabled={blocked}
            aria-describedby={describedBy}
            onClick={() => decide.mutate({ id: approval.id, decision: "approve" })}
          >
            {t("approvals.approve")}
          </Button>
          <Button
            icon="cross"
            disabled={blocked}
            aria-describedby={describedBy}
            onClick={() => decide.mutate({ id: approval.id, decision: "deny" })}
          >
            {t("approvals.deny")}
          </Button>
        </div>
      </div>
      {why !== undefined && (
        <p id={note} className="px-4 pb-4 text-sm text-soft md:text-right">
          {t(why)}
        </p>
      )}
      {decide.isError && (
        <div className="px-4 pb-4">
          <ProblemNote error={decide.error} />
        </div>
      )}
    </Panel>
  );
}

const tones = { waiting: "warn", approved: "ok", denied: "bad", consumed: "ok", expired: "neutral" } as const;

function Decided({ approval }: { readonly approval: ApprovalView }) {
  const { t } = useI18n();
  const target = useTarget(approval);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5">
      <Badge tone={tones[approval.state]}>{t(`approvals.state.${approval.state}`)}</Badge>
      <span className="min-w-0 flex-1 truncate">
        <span className="font-medium">{target}</span> {titleOf(approval.tool)}
      </span>
      <span className="text-sm text-soft">
        {approval.principal}
        {approval.decidedBy !== null && ` → ${approval.decidedBy}`} ·{" "}
        <Ago at={approval.decidedAt ?? approval.askedAt} />
      </span>
    </li>
  );
}

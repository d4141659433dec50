/** Webhooks: their receivers and the state of each, the last deliveries, a test, a replay. */
import type { WebhookView } from "@tendon/protocol";
import { useState } from "react";
import { useAliases } from "../../api/aliases.ts";
import { useWebhookChange, useWebhooks, useWebhookTest } from "../../api/webhooks.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { PageHeader } from "../../shell/page-header.tsx";
import { AdminOnly } from "../../ui/admin-only.tsx";
import { Button } from "../../ui/button.tsx";
import { GuideLink } from "../../ui/guide-link.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Badge, Empty, SkeletonRows } from "../../ui/states.tsx";
import { Ago, Clock } from "../../ui/time.tsx";
import { AddWebhookDialog } from "./add-webhook.tsx";
import { Deliveries } from "./deliveries.tsx";
import { DeleteDialog, ReplayDialog, RotateDialog } from "./webhook-dialogs.tsx";

export function WebhooksPage() {
  const { t } = useI18n();
  return (
    <>
      <PageHeader title={t("webhooks.title")} lead={t("webhooks.lead")} actions={<AddButton />} />
      <AdminOnly>
        <WebhookRows />
      </AdminOnly>
    </>
  );
}

function AddButton() {
  const { t } = useI18n();
  const { data } = useWebhooks();
  const [open, setOpen] = useState(false);
  if (data === undefined) return null;
  return (
    <>
      <Button look="primary" icon="plus" onClick={() => setOpen(true)}>
        {t("webhooks.add")}
      </Button>
      {open && <AddWebhookDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function WebhookRows() {
  const { t } = useI18n();
  const { data, error } = useWebhooks();
  // While the gateway is away, the list stays as it was.
  if (data === undefined) return error === null ? <SkeletonRows /> : <ProblemNote error={error} />;
  if (data.webhooks.length === 0)
    return (
      <Empty icon="bell" title={t("webhooks.none")}>
        <p>{t("webhooks.noneHint")}</p>
        <GuideLink guide="webhooks">{t("action.guide")}</GuideLink>
      </Empty>
    );
  return (
    <ul
      aria-label={t("webhooks.title")}
      className="divide-y divide-line rounded-xl border border-line bg-surface"
    >
      {data.webhooks.map((webhook) => (
        <WebhookRow key={webhook.id} webhook={webhook} />
      ))}
    </ul>
  );
}

type OpenDialog = "replay" | "rotate" | "delete";

function WebhookRow({ webhook }: { readonly webhook: WebhookView }) {
  const { t } = useI18n();
  const { id, enabled } = webhook;
  const [dialog, setDialog] = useState<OpenDialog>();
  const [unfolded, setUnfolded] = useState(false);
  const change = useWebhookChange(id);
  const test = useWebhookTest(id);
  const close = () => setDialog(undefined);
  return (
    <li aria-label={webhook.name} className="flex flex-col gap-2 p-4">
      <Facts webhook={webhook} />
      <div className="flex flex-wrap gap-2">
        <Button disabled={test.isPending} onClick={() => test.mutate(undefined)}>
          {t("webhooks.test")}
        </Button>
        <Button aria-expanded={unfolded} onClick={() => setUnfolded(!unfolded)}>
          {t("webhooks.deliveries")}
        </Button>
        <Button onClick={() => setDialog("replay")}>{t("webhooks.replay")}</Button>
        <Button disabled={change.isPending} onClick={() => change.mutate({ enabled: !enabled })}>
          {enabled ? t("webhooks.disable") : t("webhooks.enable")}
        </Button>
        <Button onClick={() => setDialog("rotate")}>{t("webhooks.rotate")}</Button>
        <Button look="danger" onClick={() => setDialog("delete")}>
          {t("webhooks.delete")}
        </Button>
      </div>
      <TestResult test={test} />
      {change.isError && <ProblemNote error={change.error} />}
      {unfolded && <Deliveries webhook={webhook} />}
      {dialog === "replay" && <ReplayDialog webhook={webhook} onClose={close} />}
      {dialog === "rotate" && <RotateDialog webhook={webhook} onClose={close} />}
      {dialog === "delete" && <DeleteDialog webhook={webhook} onClose={close} />}
    </li>
  );
}

function Facts({ webhook }: { readonly webhook: WebhookView }) {
  const { t, n } = useI18n();
  const aliasOf = useAliases();
  const { devices, pending, lastDeliveredAt, nextAttemptAt, lastFailure } = webhook;
  const named = [...(devices?.tags ?? []).map((tag) => `#${tag}`), ...(devices?.ids ?? []).map(aliasOf)];
  return (
    <div className="min-w-0">
      <h2 className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="text-base font-semibold break-words">{webhook.name}</span>
        <State webhook={webhook} />
        {pending > 0 && <Badge>{n("webhooks.pending", pending)}</Badge>}
      </h2>
      <p className="mt-1 font-mono text-xs break-all text-soft">{webhook.url}</p>
      <p className="mt-1 text-sm break-words text-soft">
        {webhook.types.includes("*") ? t("webhooks.allTypes") : webhook.types.join(", ")}
        {" · "}
        {devices === undefined ? t("tokens.allDevices") : named.join(", ")}
      </p>
      <p className="text-sm text-soft">
        {lastDeliveredAt === undefined ? (
          t("webhooks.neverDelivered")
        ) : (
          <>
            {t("webhooks.lastDelivered")} <Ago at={lastDeliveredAt} />
          </>
        )}
      </p>
      {webhook.state === "failing" && lastFailure !== undefined && (
        <p className="text-sm break-words text-bad">
          {t("webhooks.lastFailure", { error: lastFailure.error })} <Ago at={lastFailure.at} />
          {nextAttemptAt !== undefined && (
            <>
              {" · "}
              {t("webhooks.nextAttempt")} <Clock at={nextAttemptAt} />
            </>
          )}
        </p>
      )}
      {webhook.disabledReason !== undefined && (
        <p className="text-sm break-words text-soft">{webhook.disabledReason}</p>
      )}
    </div>
  );
}

function State({ webhook: { state } }: { readonly webhook: WebhookView }) {
  const { t } = useI18n();
  const tone = state === "ok" ? "ok" : state === "failing" ? "bad" : "neutral";
  return <Badge tone={tone}>{t(`webhooks.state.${state}`)}</Badge>;
}

function TestResult({ test }: { readonly test: ReturnType<typeof useWebhookTest> }) {
  const { t } = useI18n();
  if (test.isError) return <ProblemNote error={test.error} />;
  if (test.data === undefined) return null;
  const { ok, status = 0, error = "", durationMs } = test.data;
  return (
    <p role="status" className={`text-sm break-words ${ok ? "text-ok" : "text-bad"}`}>
      {ok
        ? t("webhooks.testOk", { status: String(status), ms: durationMs })
        : t("webhooks.testFailed", { error })}
    </p>
  );
}

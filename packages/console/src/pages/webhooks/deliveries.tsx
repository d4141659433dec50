/** The newest events of a webhook, with the last attempt of each. */
import type { WebhookView } from "@tendon/protocol";
import { useAliases } from "../../api/aliases.ts";
import { useDeliveries } from "../../api/webhooks.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Badge, SkeletonRows } from "../../ui/states.tsx";
import { Ago } from "../../ui/time.tsx";

export function Deliveries({ webhook }: { readonly webhook: WebhookView }) {
  const { t, n } = useI18n();
  const aliasOf = useAliases();
  const { data, error } = useDeliveries(webhook.id);
  if (data === undefined) return error === null ? <SkeletonRows rows={3} /> : <ProblemNote error={error} />;
  if (data.deliveries.length === 0) return <p className="text-sm text-soft">{t("webhooks.noDeliveries")}</p>;
  return (
    <ul
      aria-label={t("webhooks.deliveries")}
      className="divide-y divide-line rounded-lg bg-raised px-3 text-sm"
    >
      {data.deliveries.map(({ id, type, at, device, state, attempts, status, error: why, durationMs }) => (
        <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2">
          <Badge tone={state === "delivered" ? "ok" : attempts > 0 ? "bad" : "neutral"}>
            {t(`webhooks.delivery.${state}`)}
          </Badge>
          <code className="font-mono text-xs break-all">{type}</code>
          {device !== undefined && <span className="break-words">{aliasOf(device)}</span>}
          <Ago at={at} className="text-soft" />
          <span className="min-w-0 break-words text-soft">
            {[
              status === undefined ? undefined : `HTTP ${status}`,
              durationMs === undefined ? undefined : `${durationMs} ms`,
              attempts > 1 ? n("webhooks.attempts", attempts) : undefined,
              why,
            ]
              .filter((part) => part !== undefined)
              .join(" · ")}
          </span>
        </li>
      ))}
    </ul>
  );
}

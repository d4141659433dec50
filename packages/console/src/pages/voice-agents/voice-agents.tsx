/** Voice agents: the outgoing endpoints with their states, and what is connected to the gateway's own endpoint. */
import type { EndpointList, EndpointView } from "@tendon/protocol";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { inPath } from "../../api/client.ts";
import { useEndpoints } from "../../api/endpoints.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { PageHeader } from "../../shell/page-header.tsx";
import { AdminOnly } from "../../ui/admin-only.tsx";
import { GuideLink } from "../../ui/guide-link.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Badge, Empty, SkeletonRows } from "../../ui/states.tsx";
import { Ago, Clock } from "../../ui/time.tsx";

export function VoiceAgentsPage() {
  const { t } = useI18n();
  return (
    <>
      <PageHeader title={t("endpoints.title")} lead={t("endpoints.lead")} />
      <AdminOnly>
        <Endpoints />
      </AdminOnly>
    </>
  );
}

function Endpoints() {
  const { t } = useI18n();
  const { data, error } = useEndpoints();
  // While the gateway is away, the list stays as it was.
  if (data === undefined) return error === null ? <SkeletonRows /> : <ProblemNote error={error} />;
  const { endpoints, incoming } = data;
  if (endpoints.length === 0 && !incoming.enabled)
    return (
      <Empty icon="voice" title={t("endpoints.none")}>
        <p>{t("endpoints.noneHint")}</p>
        <GuideLink guide="voice-agents">{t("action.guide")}</GuideLink>
      </Empty>
    );
  return (
    <div className="flex flex-col gap-6">
      {endpoints.length > 0 && (
        <Group title={t("endpoints.outgoing")}>
          {endpoints.map((endpoint) => (
            <EndpointRow key={endpoint.id} endpoint={endpoint} />
          ))}
        </Group>
      )}
      {incoming.callers.length > 0 && (
        <Group title={t("endpoints.callers")}>
          {incoming.callers.map((caller) => (
            <CallerRow key={`${caller.token} ${caller.connectedAt}`} caller={caller} />
          ))}
        </Group>
      )}
      {incoming.providers.length > 0 && (
        <Group title={t("endpoints.providers")}>
          {incoming.providers.map(({ device, token, connectedAt }) => (
            <li key={device} className="p-4">
              <p className="font-semibold break-words">
                <Link href={`/devices/${inPath(device)}`} className="text-accent-deep hover:underline">
                  {device}
                </Link>
              </p>
              <p className="text-sm text-soft">
                {t("endpoints.token", { token })} · <Ago at={connectedAt} />
              </p>
            </li>
          ))}
        </Group>
      )}
      {incoming.enabled && incoming.callers.length + incoming.providers.length === 0 && (
        <p className="text-sm text-soft">{t("endpoints.nothing")}</p>
      )}
    </div>
  );
}

function Group({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="flex flex-col gap-2">
      <h2 className="text-base font-semibold">{title}</h2>
      <ul aria-label={title} className="divide-y divide-line rounded-xl border border-line bg-surface">
        {children}
      </ul>
    </section>
  );
}

function EndpointRow({ endpoint }: { readonly endpoint: EndpointView }) {
  const { t } = useI18n();
  const { host, agent, token, view, state, detail, lastError, nextAttemptAt, expiresAt } = endpoint;
  const tone = state === "connected" ? "ok" : state === "connecting" ? "neutral" : "bad";
  return (
    <li aria-label={host} className="flex flex-col gap-1 p-4">
      <h3 className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="font-semibold break-words">{host}</span>
        <Badge tone={tone}>{t(`endpoints.state.${state}`)}</Badge>
      </h3>
      <p className="text-sm break-words text-soft">
        {agent !== null && `${t("endpoints.agent", { agent })} · `}
        {t("endpoints.token", { token })} · {view} · <Figures of={endpoint} />
      </p>
      {state === "waiting_for_token" && detail !== null && (
        <p className="text-sm break-words text-bad">{detail}</p>
      )}
      {lastError !== null && (
        <p className="text-sm break-words text-soft">
          {t("endpoints.lastError", { error: lastError.message })} <Ago at={lastError.at} />
          {nextAttemptAt !== null && (
            <>
              {" · "}
              {t("endpoints.next")} <Clock at={nextAttemptAt} />
            </>
          )}
        </p>
      )}
      {expiresAt !== null && (
        <p className={`text-sm ${endpoint.expiresSoon ? "text-bad" : "text-soft"}`}>
          {t("endpoints.expires")} {expiresAt.slice(0, 10)}
        </p>
      )}
    </li>
  );
}

function CallerRow({ caller }: { readonly caller: EndpointList["incoming"]["callers"][number] }) {
  const { t } = useI18n();
  const { client, token, connectedAt } = caller;
  return (
    <li className="p-4">
      <p className="font-semibold break-words">{client ?? token}</p>
      <p className="text-sm break-words text-soft">
        {t("endpoints.token", { token })} · <Figures of={caller} /> · <Ago at={connectedAt} />
      </p>
    </li>
  );
}

function Figures({ of }: { readonly of: Pick<EndpointView, "tools" | "callsLastHour"> }) {
  const { t } = useI18n();
  const tools = of.tools === null ? t("endpoints.noTools") : t("endpoints.tools", { count: of.tools });
  return (
    <>
      {tools} · {t("endpoints.calls", { count: of.callsLastHour })}
    </>
  );
}

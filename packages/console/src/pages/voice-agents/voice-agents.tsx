/** Voice agents: the outgoing endpoints with their states, and what is connected to the gateway's own endpoint. */
import type { EndpointList } from "@tendon/protocol";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useAliases } from "../../api/aliases.ts";
import { endpointSetting, useEndpoints } from "../../api/endpoints.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { addAddress, deviceAddress } from "../../shell/navigation.ts";
import { PageHeader } from "../../shell/page-header.tsx";
import { AdminOnly } from "../../ui/admin-only.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { GuideLink } from "../../ui/guide-link.tsx";
import { Icon } from "../../ui/icon.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Empty, SkeletonRows } from "../../ui/states.tsx";
import { Clock } from "../../ui/time.tsx";
import { EndpointRow, Figures } from "./endpoint-row.tsx";

type Incoming = EndpointList["incoming"];

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
  if (endpoints.length === 0 && !incoming.enabled) return <NoAgents />;
  return (
    <div className="flex flex-col gap-6">
      {endpoints.length > 0 ? (
        <Group title={t("endpoints.outgoing")}>
          {endpoints.map((endpoint) => (
            <EndpointRow key={endpoint.id} endpoint={endpoint} />
          ))}
        </Group>
      ) : (
        <p className="text-soft">{t("endpoints.noOutgoing")}</p>
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
          {incoming.providers.map((provider) => (
            <ProviderRow key={provider.device} provider={provider} />
          ))}
        </Group>
      )}
      {incoming.enabled && incoming.callers.length + incoming.providers.length === 0 && (
        <p className="text-soft">{t("endpoints.nothing")}</p>
      )}
      <p className="flex flex-wrap gap-x-6 gap-y-2">
        {incoming.enabled && (
          <Link
            href={addAddress("provider")}
            className="inline-flex items-center gap-1 rounded text-accent-deep underline underline-offset-2"
          >
            <Icon name="plus" size={12} />
            {t("add.provider")}
          </Link>
        )}
        <GuideLink guide="voice-agents">{t("action.guide")}</GuideLink>
      </p>
    </div>
  );
}

const outgoingSetting = `agents:
  endpoints:
    - url: wss://api.xiaozhi.me/mcp/?token=…
      token: voice`;

function NoAgents() {
  const { t } = useI18n();
  const { gateway } = useSession();
  return (
    <Empty icon="agent" title={t("endpoints.none")}>
      <p>{t("endpoints.noneHint")}</p>
      <Snippet label="tendon.yaml" text={outgoingSetting} />
      <p>{t("endpoints.noneToken")}</p>
      <Snippet label={t("copy.command")} text={`${gateway.command} token create voice --scope read call`} />
      <p>{t("endpoints.noneIncoming")}</p>
      <Snippet label="tendon.yaml" text={endpointSetting} />
      <GuideLink guide="voice-agents">{t("action.guide")}</GuideLink>
    </Empty>
  );
}

function Snippet(props: { readonly label: string; readonly text: string }) {
  return (
    <div className="w-full text-left text-text">
      <CodeBlock {...props} />
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

function CallerRow({ caller }: { readonly caller: Incoming["callers"][number] }) {
  const { t } = useI18n();
  const { client, token, connectedAt } = caller;
  return (
    <li className="p-4">
      <p className="font-semibold break-words">{client ?? token}</p>
      <p className="text-sm break-words text-soft">
        {t("endpoints.token", { token })} · <Figures of={caller} /> · {t("device.since")}{" "}
        <Clock at={connectedAt} />
      </p>
    </li>
  );
}

function ProviderRow({ provider }: { readonly provider: Incoming["providers"][number] }) {
  const { t, n } = useI18n();
  const { device, token, connectedAt, ignoredFrames } = provider;
  const aliasOf = useAliases();
  return (
    <li className="p-4">
      <p className="font-semibold break-words">
        <Link href={deviceAddress(device)} className="rounded text-accent-deep hover:underline">
          {aliasOf(device)}
        </Link>
      </p>
      <p className="text-sm break-words text-soft">
        {t("endpoints.token", { token })} · {t("device.since")} <Clock at={connectedAt} />
        {ignoredFrames > 0 && ` · ${t("program.ignored")}: ${n("program.frames", ignoredFrames)}`}
      </p>
    </li>
  );
}

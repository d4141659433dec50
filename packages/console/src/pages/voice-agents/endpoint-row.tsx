/** One outgoing endpoint: its state, what the agent sees and calls, what went wrong, and when its address expires. */
import type { EndpointView } from "@tendon/protocol";
import { useI18n } from "../../i18n/i18n.tsx";
import { Badge } from "../../ui/states.tsx";
import { Ago, Clock, useNow } from "../../ui/time.tsx";

const tones = {
  connected: "ok",
  connecting: "neutral",
  retrying: "warn",
  waiting_for_token: "warn",
  replaced: "bad",
} as const satisfies Record<EndpointView["state"], string>;

export function EndpointRow({ endpoint }: { readonly endpoint: EndpointView }) {
  const { t } = useI18n();
  const { host, token, view, state, since, detail, lastError, nextAttemptAt } = endpoint;
  const agent = endpoint.agent === null ? undefined : t("endpoints.agent", { agent: endpoint.agent });
  return (
    <li
      aria-label={agent === undefined ? host : `${host}, ${agent}`}
      className="flex flex-col gap-1 p-4 text-sm break-words text-soft"
    >
      <h3 className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="min-w-0 text-base font-semibold text-text">{host}</span>
        <Badge tone={tones[state]}>{t(`endpoints.state.${state}`)}</Badge>
        <span>
          {t("device.since")} <Clock at={since} />
        </span>
      </h3>
      <p>
        {agent !== undefined && `${agent} · `}
        {t("endpoints.token", { token })} · {t("endpoints.view", { view })}
      </p>
      <p>
        <Figures of={endpoint} />
      </p>
      {state === "waiting_for_token" && detail !== null && <p className="text-text">{detail}</p>}
      {state === "replaced" && <p className="text-bad">{t("endpoints.replacedHint")}</p>}
      {lastError !== null && state !== "replaced" && (
        <p>
          {t("endpoints.lastError", { error: lastError.message })} (<Ago at={lastError.at} />)
        </p>
      )}
      {nextAttemptAt !== null && (
        <p>
          {t("endpoints.next")} <Clock at={nextAttemptAt} />
        </p>
      )}
      <AddressExpiry endpoint={endpoint} />
    </li>
  );
}

/** A warning from 30 days before on. */
function AddressExpiry({ endpoint: { expiresAt, expiresSoon } }: { readonly endpoint: EndpointView }) {
  const { t, date } = useI18n();
  const now = useNow();
  if (expiresAt === null) return null;
  const when = new Date(expiresAt);
  const expired = when.getTime() <= now;
  const text = t(expired ? "endpoints.expired" : "endpoints.expires", { date: date(when) });
  if (!expiresSoon && !expired) return <p>{text}</p>;
  return (
    <p className={expired ? "text-bad" : "text-warn"}>
      <Badge tone={expired ? "bad" : "warn"}>{t(`endpoints.badge.${expired ? "expired" : "soon"}`)}</Badge>{" "}
      {text} {t("endpoints.renew")}
    </p>
  );
}

export function Figures({ of }: { readonly of: Pick<EndpointView, "tools" | "callsLastHour"> }) {
  const { t, n } = useI18n();
  return (
    <>
      {of.tools === null ? t("endpoints.noTools") : n("endpoints.tools", of.tools)} ·{" "}
      {n("endpoints.calls", of.callsLastHour)}
    </>
  );
}

/** The connection to Home Assistant's broker, and what is published there. */
import { useQuery } from "@tanstack/react-query";
import type { HomeAssistantView } from "@tendon/protocol";
import { api } from "../../api/client.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { GuideLink } from "../../ui/guide-link.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Badge, Panel, SkeletonRows } from "../../ui/states.tsx";
import { Ago } from "../../ui/time.tsx";

const refreshMs = 5_000;

export function HomeAssistantCard() {
  const { t } = useI18n();
  const { may } = useSession();
  const { data, error } = useQuery({
    queryKey: ["home-assistant"],
    queryFn: ({ signal }) => api<HomeAssistantView>("/home-assistant", { signal }),
    enabled: may("admin"),
    refetchInterval: refreshMs,
  });
  return (
    <Panel className="mb-5" title={t("homeAssistant.title")} label={t("homeAssistant.title")}>
      <div className="px-4 pt-1 pb-4">
        {data === undefined ? (
          error === null ? (
            <SkeletonRows />
          ) : (
            <ProblemNote error={error} />
          )
        ) : (
          <State view={data} />
        )}
        <p className="mt-3">
          <GuideLink guide="home-assistant">{t("homeAssistant.guide")}</GuideLink>
        </p>
      </div>
    </Panel>
  );
}

function State({
  view: { state, detail, broker, devices, entities, mqttVersion, seenAt },
}: {
  view: HomeAssistantView;
}) {
  const { t } = useI18n();
  if (state === "off") return <p>{t("homeAssistant.offDetail")}</p>;
  return (
    <>
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={state === "connected" ? "ok" : "warn"}>{t(`homeAssistant.state.${state}`)}</Badge>
        <span>{broker}</span>
        {mqttVersion !== null && <span>MQTT {mqttVersion}</span>}
      </p>
      {detail !== null && <p className="mt-2">{detail}</p>}
      {state === "connected" && (
        <>
          <p className="mt-2">{t("homeAssistant.published", { devices, entities })}</p>
          <p className="mt-2">
            {seenAt === null ? (
              t("homeAssistant.unseen")
            ) : (
              <>
                {t("homeAssistant.seen")} <Ago at={seenAt} />
              </>
            )}
          </p>
        </>
      )}
    </>
  );
}

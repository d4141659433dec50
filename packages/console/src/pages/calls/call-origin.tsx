/** Who made a call: the caller's name, interface, program and address, as far as the gateway knows them. */
import { automaticPrefix, type CallTrace } from "@tendon/protocol";
import type { ReactNode } from "react";
import { useI18n } from "../../i18n/i18n.tsx";
import { Panel } from "../../ui/states.tsx";
import { Clock } from "../../ui/time.tsx";
import { awayMs } from "./timeline.tsx";

export function CallFacts({ trace }: { readonly trace: CallTrace }) {
  const { t, duration } = useI18n();
  const { principal, origin, approval } = trace;
  const ran = trace.expiresAt === null || trace.startedAt !== null;
  const automatic = principal.startsWith(automaticPrefix);
  return (
    <Panel title={t("call.facts")}>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 px-4 pt-1 pb-4">
        <Fact name={t("call.principal")}>
          {principal}
          {automatic && <span className="block text-soft">{t("call.automatic")}</span>}
        </Fact>
        {origin !== null && <Fact name={t("call.via")}>{t(`call.via.${origin.via}`)}</Fact>}
        {origin?.client !== undefined && (
          <Fact name={t("call.client")}>
            <span title={origin.client}>{programIn(origin.client)}</span>
          </Fact>
        )}
        {origin?.address !== undefined && <Fact name={t("call.address")}>{origin.address}</Fact>}
        {origin?.asker !== undefined && (
          <Fact name={t("call.askedBy")}>
            {origin.asker.device ?? origin.asker.serialNumber ?? origin.asker.agentId ?? ""}
          </Fact>
        )}
        {trace.expiresAt !== null && <Fact name={t("call.waited")}>{duration(awayMs(trace))}</Fact>}
        {trace.expiresAt !== null && !ran && (
          <Fact name={t("call.expires")}>
            <Clock at={trace.expiresAt} />
          </Fact>
        )}
        {trace.state === "finished" && ran && <Fact name={t("call.queued")}>{duration(trace.queuedMs)}</Fact>}
        {ran && <Fact name={t("call.total")}>{duration(trace.durationMs)}</Fact>}
        {approval !== null && <Fact name={t("call.approval")}>{approval}</Fact>}
        <Fact name={t("call.id")}>{trace.callId}</Fact>
      </dl>
    </Panel>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-soft">{name}</dt>
      <dd className="break-words [overflow-wrap:anywhere]">{children}</dd>
    </>
  );
}

/** The order matters: Edge and Chrome also name the browsers that they are compatible with. */
const browsers = [
  [/\bEdg\//, "Edge"],
  [/\bFirefox\//, "Firefox"],
  [/\bChrom(e|ium)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
] as const;
const systems = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/Linux/, "Linux"],
] as const;

/** A browser's User-Agent as two words; any other program names itself well enough. */
function programIn(client: string): string {
  if (!client.startsWith("Mozilla/")) return client;
  const named = [browsers, systems].map((list) => list.find(([pattern]) => pattern.test(client))?.[1]);
  const words = named.filter((word) => word !== undefined);
  return words.length === 0 ? client : words.join(", ");
}

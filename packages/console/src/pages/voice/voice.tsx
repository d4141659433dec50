/** Who talks to which voice server right now, and how well it gets through. Numbers only: what is said stays between the two. */
import type { VoiceSession } from "@tendon/protocol";
import { useMemo } from "react";
import { Link } from "wouter";
import { useSession } from "../../api/session.tsx";
import { useTalks } from "../../api/talks.ts";
import { useWords } from "../../i18n/i18n.tsx";
import { deviceAddress } from "../../shell/navigation.ts";
import { PageHeader } from "../../shell/page-header.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { GuideLink } from "../../ui/guide-link.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Empty, Panel, SkeletonRows } from "../../ui/states.tsx";
import { TalkFacts, TalkState } from "../../ui/talk.tsx";

/** More than anybody reads, and few enough to count anew every second. */
const mostShown = 100;
const example = "voice:\n  upstream: ws://192.168.1.20:8000/xiaozhi/v1/";
const tryIt = "npx tendon simulate esp32 --transport mqtt --speak 5s";

export function VoicePage() {
  const { t, n } = useWords();
  const { gateway, may } = useSession();
  const { talks, error, fresh } = useTalks();
  const busy = talks !== undefined && talks.length > 0;
  return (
    <>
      <PageHeader
        title={t("voice.title")}
        lead={
          <span role="status">
            {busy && fresh ? n("voice.talking", talks.length) : t(busy ? "live.memory" : "voice.lead")}
          </span>
        }
      />
      {!may("read") && <p className="text-soft">{t("voice.mayNot")}</p>}
      {may("read") && !gateway.voice && <NotSetUp />}
      {error !== null && <ProblemNote error={error} />}
      {may("read") && gateway.voice && talks === undefined && error === null && <SkeletonRows rows={3} />}
      {talks?.length === 0 && <NobodyTalks fresh={fresh} />}
      {busy && <Talks talks={talks} fresh={fresh} />}
    </>
  );
}

function NotSetUp() {
  const { t } = useWords();
  return (
    <Empty icon="voice" title={t("voice.none")}>
      <p>{t("voice.noneHint")}</p>
      <div className="w-full text-left">
        <CodeBlock text={example} label="tendon.yaml" />
      </div>
      <GuideLink guide="voice">{t("action.guide")}</GuideLink>
    </Empty>
  );
}

function NobodyTalks({ fresh }: { readonly fresh: boolean }) {
  const { t } = useWords();
  return (
    <Empty icon="voice" title={t(fresh ? "voice.quiet" : "voice.wasQuiet")}>
      <p>{t("voice.quietHint")}</p>
      <div className="w-full text-left">
        <CodeBlock text={tryIt} label={t("copy.command")} />
      </div>
      <GuideLink guide="voice">{t("action.guide")}</GuideLink>
    </Empty>
  );
}

function Talks({ talks, fresh }: { readonly talks: readonly VoiceSession[]; readonly fresh: boolean }) {
  const { t, n } = useWords();
  // The longest first: a talk keeps its place while it lasts.
  const shown = useMemo(
    () => [...talks].sort((a, b) => a.startedAt.localeCompare(b.startedAt)).slice(0, mostShown),
    [talks],
  );
  return (
    <Panel label={t("voice.title")}>
      <ul className="divide-y divide-line">
        {shown.map((talk) => (
          <li
            key={`${talk.device} ${talk.startedAt}`}
            className="grid grid-cols-1 gap-3 p-4 lg:grid-cols-[10rem_minmax(0,1fr)] lg:items-center"
          >
            <span className="flex min-w-0 items-center justify-between gap-3 lg:flex-col lg:items-start lg:gap-1">
              <Link
                href={deviceAddress(talk.device)}
                className="max-w-full truncate rounded font-medium hover:text-accent-deep"
              >
                {talk.alias}
              </Link>
              <TalkState talk={talk} fresh={fresh} />
            </span>
            <TalkFacts talk={talk} fresh={fresh} wide />
          </li>
        ))}
      </ul>
      {talks.length > mostShown && (
        <p className="border-t border-line p-4 text-soft">{n("voice.more", talks.length - mostShown)}</p>
      )}
    </Panel>
  );
}
